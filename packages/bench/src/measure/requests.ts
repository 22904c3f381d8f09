import { once } from 'node:events';
import { Agent, request, type IncomingMessage } from 'node:http';
import { bearer, type ApiCall } from '@tocsin/lab/api-client';
import type { System } from '@tocsin/lab/system';
import { atMost, figure, type Figure } from '../report/figure.ts';
import type { Bench } from '../scenarios/scenario.ts';
import type { Stage } from '../stage.ts';
import { distributionOf } from './percentiles.ts';
import { readPeakMemory, resetPeakMemory } from './proc.ts';
import { cpuMicros, measureUsage } from './usage.ts';

export interface CallPlan {
  readonly key: string;
  readonly label: string;
  /** Sent one after the other and repeatedly. */
  readonly calls: readonly ApiCall[];
  readonly headers?: Readonly<Record<string, string>>;
  /** Each has one connection and one request at a time. */
  readonly clients: number;
  readonly seconds: number;
  readonly warmUpSeconds: number;
  readonly maxP99Ms?: number;
}

/** Returns the rate, latency and size of requests to the api, with its CPU time per request and its peak memory. */
export async function measureCalls({ say }: Bench, stage: Stage, plan: CallPlan): Promise<Figure[]> {
  const { key, label, seconds, warmUpSeconds, maxP99Ms } = plan;
  say(`Measuring "${label}" …`);
  const pid = stage.running('api')[0]?.pid ?? 0;
  await sendCalls(stage.system, plan, warmUpSeconds);
  resetPeakMemory(pid);
  const { span, usage, result } = await measureUsage(stage, () => sendCalls(stage.system, plan, seconds));
  const { latencies, bytes } = result;
  const { count, p50, p99, max } = distributionOf(latencies);
  return [
    figure(`${key}-rate`, label, (count * 1_000) / (span.to - span.from), '/s'),
    figure(`${key}-p50`, '  p50', p50, 'ms'),
    figure(`${key}-p99`, '  p99', p99, 'ms', atMost(maxP99Ms)),
    figure(`${key}-max`, '  longest', max, 'ms'),
    figure(`${key}-size`, '  bytes received', bytes / count, 'B'),
    figure(`${key}-cpu`, '  CPU of the api', cpuMicros(usage, ['api']) / count, 'µs'),
    figure(`${key}-memory`, '  peak memory of the api', readPeakMemory(pid) / 1e6, 'MB'),
  ];
}

/** @returns the latencies in ms, and the sum of bytes */
async function sendCalls(
  system: System,
  { calls, clients, headers }: CallPlan,
  seconds: number,
): Promise<{ latencies: number[]; bytes: number }> {
  const agent = new Agent({ keepAlive: true, maxSockets: clients });
  const latencies: number[] = [];
  const endsAt = performance.now() + seconds * 1_000;
  let [next, bytes] = [0, 0];
  const client = async (): Promise<void> => {
    while (performance.now() < endsAt) {
      const call = calls[next % calls.length];
      next += 1;
      if (call === undefined) return;
      const sentAt = performance.now();
      bytes += (await sendCall(system, agent, call, headers)).bytes;
      latencies.push(performance.now() - sentAt);
    }
  };
  await Promise.all(Array.from({ length: clients }, client));
  agent.destroy();
  return { latencies, bytes };
}

/** Sends a call without parsing the response, which would take CPU time from the api. @throws Error for any status but 2xx and 304 */
export async function sendCall(
  system: System,
  agent: Agent,
  { method, path, body }: ApiCall,
  headers: Readonly<Record<string, string>> = {},
): Promise<{ bytes: number; etag: string }> {
  const type = body === undefined ? {} : { 'Content-Type': 'application/json' };
  const sent = request({
    port: system.apiPort(),
    method,
    path,
    agent,
    headers: { ...bearer(system.apiKey), ...type, ...headers },
  });
  sent.end(body === undefined ? undefined : JSON.stringify(body));
  const [response] = (await once(sent, 'response')) as [IncomingMessage];
  let bytes = 0;
  for await (const chunk of response) bytes += (chunk as Buffer).length;
  const status = response.statusCode ?? 0;
  if (status !== 304 && Math.floor(status / 100) !== 2)
    throw new Error(`${method} ${path}: status ${status}`);
  return { bytes, etag: response.headers.etag ?? '' };
}

/** Returns the duration of some work in milliseconds. */
export async function timeOf(work: () => Promise<unknown>): Promise<number> {
  const startedAt = performance.now();
  await work();
  return performance.now() - startedAt;
}
