import { Agent } from 'node:http';
import { setTimeout as wait } from 'node:timers/promises';
import { bearer } from '@tocsin/lab/api-client';
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

/**
 * Sends requests beside the checks, as pipelines, dashboards and Prometheus do: one a second for a monitor, its events, its statistics or
 * the service's metrics; and the list of all monitors every five minutes. Reports each failure at once.
 * @returns a function that ends the traffic and returns its figures
 */
export async function startTraffic(
  { say, teardown }: Bench,
  system: System,
  api: ServiceProcess,
  ids: readonly string[],
): Promise<() => Promise<Figure[]>> {
  const agent = new Agent({ keepAlive: true });
  const baseUrl = `http://127.0.0.1:${api.port}`;
  const key = bearer(system.apiKey);
  const session = { Cookie: (await openSession(api)).cookie };
  const ending = new AbortController();
  const latencies: { readonly small: number[]; readonly large: number[] } = { small: [], large: [] };
  let failures = 0;

  const send = async (path: string, headers = key, size: 'small' | 'large' = 'small') => {
    const sentAt = performance.now();
    const status = await sendCall(baseUrl, agent, headers, { method: 'GET', path });
    if (status < 200 || status >= 300) throw new Error(`GET ${path}: status ${status}`);
    latencies[size].push(performance.now() - sentAt);
  };
  let turn = 0;
  const request = async (): Promise<void> => {
    turn += 1;
    // A large step, so that the requests are of different hosts.
    const id = ids[(turn * 7_919) % ids.length] ?? '';
    const since = new Date(Date.now() - LARGE_EVERY_MS).toISOString();
    const kinds = [
      () => send(`${MONITORS}/${id}`),
      () => send(`${MONITORS}/${id}/events?since=${since}`),
      () => send(`/api/dashboard/monitors/${id}/stats`, session),
      () => api.metrics(),
    ];
    await kinds[turn % kinds.length]?.();
  };
  const repeat = async (everyMs: number, work: () => Promise<void>): Promise<void> => {
    while (!ending.signal.aborted) {
      await work().catch((error: unknown) => {
        failures += 1;
        say(`FAILED: ${String(error)}`);
      });
      await wait(everyMs, undefined, { signal: ending.signal }).catch(() => undefined);
    }
  };

  const list = (): Promise<void> => send(MONITORS, key, 'large');
  const running = [repeat(EVERY_MS, request), repeat(LARGE_EVERY_MS, list)];
  const end = async (): Promise<void> => {
    ending.abort();
    await Promise.all(running);
    agent.destroy();
  };
  teardown.onStop(end);
  return async () => {
    await end();
    const { p50, p99 } = distributionOf(latencies.small);
    return [
      figure('api-failures', 'requests to the api without 2xx', failures, '', { atMost: 0 }),
      figure('api-p50', 'small requests to the api p50', p50, 'ms'),
      figure('api-p99', '  p99', p99, 'ms'),
      figure('list-max', 'list of all monitors, longest', distributionOf(latencies.large).max, 'ms'),
    ];
  };
}
