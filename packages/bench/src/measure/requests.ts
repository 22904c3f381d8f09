import { Agent, request } from 'node:http';
import { bearer, type ApiCall } from '@tocsin/lab/api-client';
import type { System } from '@tocsin/lab/system';
import { distributionOf, type Distribution } from './percentiles.ts';

export interface RequestReport {
  readonly perSecond: number;
  /** Of responses with 2xx, in ms. */
  readonly latencyMs: Distribution;
  readonly failures: number;
}

/** Sends requests to the api for a while, over and over, from clients with one connection each and one request at a time. */
export async function measureRequests(
  system: System,
  calls: readonly ApiCall[],
  { clients, seconds }: { readonly clients: number; readonly seconds: number },
): Promise<RequestReport> {
  const baseUrl = `http://127.0.0.1:${system.apiPort()}`;
  const headers = bearer(system.apiKey);
  const agent = new Agent({ keepAlive: true, maxSockets: clients });
  const latencies: number[] = [];
  const startedAt = performance.now();
  const endsAt = startedAt + seconds * 1_000;
  let next = 0;
  let failures = 0;
  const client = async (): Promise<void> => {
    while (performance.now() < endsAt) {
      const call = calls[next % calls.length];
      next += 1;
      if (call === undefined) return;
      const sentAt = performance.now();
      const status = await send(baseUrl, agent, headers, call);
      if (status >= 200 && status < 300) latencies.push(performance.now() - sentAt);
      else failures += 1;
    }
  };
  await Promise.all(Array.from({ length: clients }, client));
  agent.destroy();
  const perSecond = latencies.length / ((performance.now() - startedAt) / 1_000);
  return { perSecond, latencyMs: distributionOf(latencies), failures };
}

/** Does not read the body, which would take time from the api. @returns the status after the whole response; 0 for none */
function send(
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
