import http from 'node:http';
import https from 'node:https';
import { setTimeout as wait } from 'node:timers/promises';
import { createSecureContext } from 'node:tls';
import { until } from '@tocsin/embedded/testing/until';
import { serveParent } from './helper-process.ts';

/*
 * The floor: the cost of a bare request of Node's own client, each on a new connection, with one secure context for all. No check
 * that uses it can cost less.
 */

export interface FloorMessage {
  readonly url: string;
  /** PEM of the CA to trust; null for http. */
  readonly ca: string | null;
  readonly rate: number;
  readonly seconds: number;
  /** Not measured. */
  readonly warmUpSeconds: number;
}

export type FloorReport = Awaited<ReturnType<typeof measureFloor>>;

serveParent(measureFloor);

async function measureFloor({ url, ca, rate, seconds, warmUpSeconds }: FloorMessage) {
  const agent =
    ca === null
      ? new http.Agent({ keepAlive: false })
      : new https.Agent({
          keepAlive: false,
          maxCachedSessions: 0,
          secureContext: createSecureContext({ ca }),
        });
  const { get } = ca === null ? http : https;
  const send = (): Promise<boolean> =>
    new Promise((resolve) => {
      const request = get(url, { agent }, (response) => {
        response.resume();
        response.on('end', () => resolve(response.statusCode === 200));
      });
      request.on('error', () => resolve(false));
    });
  await atRate(rate, warmUpSeconds, send);
  const before = process.cpuUsage();
  const { requests, failures } = await atRate(rate, seconds, send);
  const { user, system } = process.cpuUsage(before);
  return { requests, failures, cpuMs: (user + system) / 1_000 };
}

/** Sends requests evenly over the time, and waits until all have ended. */
async function atRate(
  rate: number,
  seconds: number,
  send: () => Promise<boolean>,
): Promise<{ requests: number; failures: number }> {
  const startedAt = performance.now();
  const requests = Math.round(rate * seconds);
  let [started, ended, failures] = [0, 0, 0];
  const count = async (): Promise<void> => {
    if (!(await send())) failures += 1;
    ended += 1;
  };
  while (started < requests) {
    const due = Math.min(requests, Math.ceil(((performance.now() - startedAt) / 1_000) * rate));
    for (; started < due; started += 1) {
      void count();
    }
    await wait(1);
  }
  await until('every request ended', () => ended === requests, 5_000);
  return { requests, failures };
}
