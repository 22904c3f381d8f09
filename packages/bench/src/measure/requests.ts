import { Agent, request } from 'node:http';
import { bearer, type ApiCall } from '@tocsin/lab/api-client';
import type { System } from '@tocsin/lab/system';
import { figure, type Figure } from '../report/figure.ts';
import type { Bench } from '../scenarios/scenario.ts';
import { measureUsage, type Stage } from '../stage.ts';
import { distributionOf } from './percentiles.ts';

interface Calls {
  /** The prefix of the figures' keys. */
  readonly key: string;
  readonly label: string;
  /** Sent in turn, repeatedly. */
  readonly calls: readonly ApiCall[];
  /** Each has one connection and one request at a time. */
  readonly clients: number;
  readonly seconds: number;
  /** Not measured; default 0. */
  readonly warmUpSeconds?: number;
}

/** Sends requests to the api for a while. @returns their rate and latency, and the CPU time that the api takes for each */
export async function measureCalls({ say }: Bench, stage: Stage, plan: Calls): Promise<Figure[]> {
  const { key, label, seconds, warmUpSeconds = 0 } = plan;
  say(`Measuring "${label}" …`);
  await sendCalls(stage.system, plan, warmUpSeconds);
  const { span, usage, result } = await measureUsage(stage, () => sendCalls(stage.system, plan, seconds));
  const { latencies, failures } = result;
  const { count, p50, p99 } = distributionOf(latencies);
  const cpuMs = usage.get('api')?.cpuMs ?? Number.NaN;
  return [
    figure(`${key}-rate`, label, (count * 1_000) / (span.to - span.from), '/s'),
    figure(`${key}-p50`, '  p50', p50, 'ms'),
    figure(`${key}-p99`, '  p99', p99, 'ms'),
    figure(`${key}-cpu`, '  CPU of the api', (cpuMs * 1_000) / count, 'µs'),
    ...(failures === 0 ? [] : [figure(`${key}-failures`, '  failures', failures, '')]),
  ];
}

/** @returns the latencies of the responses with 2xx, in ms */
async function sendCalls(
  system: System,
  { calls, clients }: Calls,
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

/** Does not parse the body, which would take CPU time from the api. @returns the status after the whole response; 0 for none */
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

/** How long some work takes, in milliseconds. */
export async function timeOf(work: () => Promise<unknown>): Promise<number> {
  const startedAt = performance.now();
  await work();
  return performance.now() - startedAt;
}
