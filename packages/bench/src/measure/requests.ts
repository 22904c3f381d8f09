import { Agent, request } from 'node:http';
import { bearer, type ApiCall } from '@tocsin/lab/api-client';
import type { System } from '@tocsin/lab/system';
import { atMost, figure, type Figure } from '../report/figure.ts';
import type { Bench } from '../scenarios/scenario.ts';
import type { Stage } from '../stage.ts';
import { distributionOf } from './percentiles.ts';
import { cpuMicros, measureUsage } from './usage.ts';

interface CallOptions {
  /** Each has one connection and one request at a time. */
  readonly clients: number;
  readonly seconds: number;
  readonly warmUpSeconds: number;
}

/**
 * Sends requests to the api, one after the other and repeatedly.
 * @param key the prefix of the keys of the figures
 * @returns their rate and latency, and the CPU time of the api per request
 */
export async function measureCalls(
  { say }: Bench,
  stage: Stage,
  { clients, seconds, warmUpSeconds }: CallOptions,
  key: string,
  label: string,
  calls: readonly ApiCall[],
  maxP99Ms?: number,
): Promise<Figure[]> {
  say(`Measuring "${label}" …`);
  await sendCalls(stage.system, calls, clients, warmUpSeconds);
  const { span, usage, result } = await measureUsage(stage, () =>
    sendCalls(stage.system, calls, clients, seconds),
  );
  const { latencies, failures } = result;
  const { count, p50, p99 } = distributionOf(latencies);
  return [
    figure(`${key}-rate`, label, (count * 1_000) / (span.to - span.from), '/s'),
    figure(`${key}-p50`, '  p50', p50, 'ms'),
    figure(`${key}-p99`, '  p99', p99, 'ms', atMost(maxP99Ms)),
    figure(`${key}-cpu`, '  CPU of the api', cpuMicros(usage, ['api']) / count, 'µs'),
    ...(failures === 0 ? [] : [figure(`${key}-failures`, '  failures', failures, '')]),
  ];
}

/** @returns the latencies of the successful requests, in ms */
async function sendCalls(
  system: System,
  calls: readonly ApiCall[],
  clients: number,
  seconds: number,
): Promise<{ latencies: number[]; failures: number }> {
  const baseUrl = `http://127.0.0.1:${system.apiPort()}`;
  const agent = new Agent({ keepAlive: true, maxSockets: clients });
  const latencies: number[] = [];
  const endsAt = performance.now() + seconds * 1_000;
  let next = 0;
  let failures = 0;
  const client = async (): Promise<void> => {
    while (performance.now() < endsAt) {
      const call = calls[next % calls.length];
      next += 1;
      if (call === undefined) return;
      const sentAt = performance.now();
      const status = await sendCall(baseUrl, agent, bearer(system.apiKey), call);
      if (status >= 200 && status < 300) latencies.push(performance.now() - sentAt);
      else failures += 1;
    }
  };
  await Promise.all(Array.from({ length: clients }, client));
  agent.destroy();
  return { latencies, failures };
}

/** Sends a call without parsing the response, which would take CPU time from the api. @returns the status; 0 without a complete response */
export function sendCall(
  baseUrl: string,
  agent: Agent,
  authorization: Readonly<Record<string, string>>,
  { method, path, body }: ApiCall,
): Promise<number> {
  const headers = { ...authorization, ...(body !== undefined && { 'Content-Type': 'application/json' }) };
  return new Promise((resolve) => {
    const sent = request(baseUrl + path, { method, agent, headers }, (response) => {
      response.resume();
      response.on('end', () => resolve(response.statusCode ?? 0));
      response.on('error', () => resolve(0));
    });
    sent.on('error', () => resolve(0));
    sent.end(body === undefined ? undefined : JSON.stringify(body));
  });
}

/** Returns the duration of some work in milliseconds. */
export async function timeOf(work: () => Promise<unknown>): Promise<number> {
  const startedAt = performance.now();
  await work();
  return performance.now() - startedAt;
}
