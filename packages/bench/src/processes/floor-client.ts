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

export interface FloorReport {
  readonly requests: number;
  readonly failures: number;
  readonly cpuMs: number;
}

serveParent(async (message: FloorMessage) => {
  const send = sender(message);
  await atRate(message.rate, message.warmUpSeconds, send);
  const before = process.cpuUsage();
  let failures = 0;
  const requests = await atRate(message.rate, message.seconds, (done) =>
    send((ok) => {
      if (!ok) failures += 1;
      done();
    }),
  );
  const { user, system } = process.cpuUsage(before);
  return { requests, failures, cpuMs: (user + system) / 1_000 } satisfies FloorReport;
});

function sender({ url, ca }: FloorMessage): (done: (ok: boolean) => void) => void {
  const agent =
    ca === null
      ? new http.Agent({ keepAlive: false })
      : new https.Agent({
          keepAlive: false,
          maxCachedSessions: 0,
          secureContext: createSecureContext({ ca }),
        });
  const { get } = ca === null ? http : https;
  return (done) => {
    const request = get(url, { agent }, (response) => {
      response.resume();
      response.on('end', () => done(response.statusCode === 200));
    });
    request.on('error', () => done(false));
  };
}

/** Starts requests evenly over the time, and waits until all have ended. @returns how many */
async function atRate(rate: number, seconds: number, start: (done: () => void) => void): Promise<number> {
  const startedAt = performance.now();
  const total = Math.round(rate * seconds);
  let started = 0;
  let ended = 0;
  while (started < total) {
    const due = Math.min(total, Math.ceil(((performance.now() - startedAt) / 1_000) * rate));
    for (; started < due; started += 1) {
      start(() => {
        ended += 1;
      });
    }
    await wait(1);
  }
  await until('every request ended', () => ended === total, 5_000);
  return total;
}
