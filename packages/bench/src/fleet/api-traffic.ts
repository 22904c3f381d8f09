import { Agent } from 'node:http';
import { setTimeout as wait } from 'node:timers/promises';
import { bearer, callApi, type ApiCall, type ApiTarget } from '@tocsin/lab/api-client';
import { openSession } from '@tocsin/lab/dashboard-session';
import type { ServiceProcess } from '@tocsin/lab/service-process';
import type { System } from '@tocsin/lab/system';
import { distributionOf } from '../measure/percentiles.ts';
import { sendCall } from '../measure/requests.ts';
import { figure, type Figure } from '../report/figure.ts';
import { MONITORS } from '../scenarios/api.ts';
import type { Bench } from '../scenarios/scenario.ts';

const EVERY_MS = 1_000;
/** Large responses are requested less often. */
const LARGE_EVERY_MS = 300_000;
const PAGE = 500;
const TAIL = `/api/cli/events?limit=${PAGE}`;

interface Traffic {
  /** Ends the traffic. @returns its figures */
  readonly stop: () => Promise<Figure[]>;
}

/**
 * Requests beside the checks, as pipelines, dashboards and Prometheus send them: one a second for a monitor, its events, its statistics or
 * the service's metrics; the list of all monitors every five minutes; and a client that tails the events of the account. Each response
 * without 2xx is reported at once.
 */
export async function startTraffic(
  { say, teardown }: Bench,
  system: System,
  api: ServiceProcess,
  ids: readonly string[],
): Promise<Traffic> {
  const agent = new Agent({ keepAlive: true });
  const baseUrl = `http://127.0.0.1:${api.port}`;
  const target: ApiTarget = { baseUrl, headers: bearer(system.apiKey), agent };
  const session = { Cookie: (await openSession(api)).cookie };
  const ending = new AbortController();
  const latencies: number[] = [];
  const largeLatencies: number[] = [];
  let failures = 0;
  const fail = (what: string): void => {
    failures += 1;
    say(`FAILED: ${what}`);
  };
  const send = async (call: ApiCall, headers = target.headers, measured = latencies): Promise<void> => {
    const sentAt = performance.now();
    const status = await sendCall(baseUrl, agent, headers, call);
    if (status >= 200 && status < 300) measured.push(performance.now() - sentAt);
    else fail(`${call.method} ${call.path}: status ${status}`);
  };
  const request = async (): Promise<void> => {
    for (let turn = 0; !ending.signal.aborted; turn += 1) {
      // A large step, so that the requests are of different hosts.
      const id = ids[(turn * 7_919) % ids.length] ?? '';
      const since = new Date(Date.now() - LARGE_EVERY_MS).toISOString();
      const calls = [
        () => send(get(`${MONITORS}/${id}`)),
        () => send(get(`${MONITORS}/${id}/events?since=${since}`)),
        () => send(get(`/api/dashboard/monitors/${id}/stats`), session),
        async () =>
          void (await api.metrics().catch((error: unknown) => fail(`GET /metrics: ${String(error)}`))),
      ];
      await calls[turn % calls.length]?.();
      await pause(EVERY_MS, ending.signal);
    }
  };
  const list = async (): Promise<void> => {
    while (!ending.signal.aborted) {
      await send(get(MONITORS), target.headers, largeLatencies);
      await pause(LARGE_EVERY_MS, ending.signal);
    }
  };
  const tailed = { events: 0, maxBehindMs: 0 };
  const tail = async (): Promise<void> => {
    let cursor = '';
    while (!ending.signal.aborted) {
      const call = get(`${TAIL}${cursor === '' ? '' : `&since=${encodeURIComponent(cursor)}`}`);
      const outcome = await callApi(target, call);
      if (outcome.kind !== 'response' || outcome.status !== 200) {
        fail(
          `${call.method} ${call.path}: ${outcome.kind === 'response' ? `status ${outcome.status}` : outcome.kind}`,
        );
        await pause(EVERY_MS, ending.signal);
        continue;
      }
      const page = outcome.body as { events: { timestamp: string }[]; cursor: string };
      cursor = page.cursor;
      tailed.events += page.events.length;
      const [first] = page.events;
      if (first !== undefined)
        tailed.maxBehindMs = Math.max(tailed.maxBehindMs, Date.now() - Date.parse(first.timestamp));
      if (page.events.length < PAGE) await pause(EVERY_MS, ending.signal);
    }
  };

  const startedAt = performance.now();
  const running = Promise.all([request(), list(), tail()]);
  const end = async (): Promise<void> => {
    ending.abort();
    await running;
    agent.destroy();
  };
  teardown.onStop(end);
  return {
    stop: async () => {
      await end();
      const seconds = (performance.now() - startedAt) / 1_000;
      return [
        figure('api-failures', 'requests to the api without 2xx', failures, ''),
        figure('api-p50', 'small requests to the api p50', distributionOf(latencies).p50, 'ms'),
        figure('api-p99', '  p99', distributionOf(latencies).p99, 'ms'),
        figure('list-max', 'list of all monitors, longest', distributionOf(largeLatencies).max, 'ms'),
        figure('tailed', 'events tailed', tailed.events / seconds, '/s'),
        figure('tail-behind', '  oldest event of a response, longest ago', tailed.maxBehindMs / 1_000, 's'),
      ];
    },
  };
}

function get(path: string): ApiCall {
  return { method: 'GET', path };
}

async function pause(ms: number, signal: AbortSignal): Promise<void> {
  await wait(ms, undefined, { signal }).catch(() => undefined);
}
