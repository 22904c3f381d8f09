import { Agent, request } from 'node:http';
import { distributionOf, type Distribution } from '../measure/percentiles.ts';
import { serveParent } from './serve-parent.ts';

/* Clients of the API, each with a connection that it keeps, one request at a time. */

export interface ApiRequest {
  readonly method: string;
  readonly path: string;
  readonly body?: unknown;
}

export interface ApiClientMessage {
  readonly baseUrl: string;
  readonly apiKey: string;
  readonly clients: number;
  readonly seconds: number;
  /** Sent one after the other, again and again. */
  readonly requests: readonly ApiRequest[];
}

export interface ApiClientReport {
  readonly perSecond: number;
  /** Of those that were answered with 2xx. */
  readonly latencyMs: Distribution;
  readonly failures: number;
}

serveParent(async (message: ApiClientMessage): Promise<ApiClientReport> => {
  const agent = new Agent({ keepAlive: true, maxSockets: message.clients });
  const latencies: number[] = [];
  const startedAt = performance.now();
  const endsAt = startedAt + message.seconds * 1_000;
  let next = 0;
  let failures = 0;
  const client = async (): Promise<void> => {
    while (performance.now() < endsAt) {
      const chosen = message.requests[next % message.requests.length];
      next += 1;
      if (chosen === undefined) return;
      const sentAt = performance.now();
      const status = await send(message, agent, chosen);
      if (status >= 200 && status < 300) latencies.push(performance.now() - sentAt);
      else failures += 1;
    }
  };
  await Promise.all(Array.from({ length: message.clients }, client));
  agent.destroy();
  const perSecond = latencies.length / ((performance.now() - startedAt) / 1_000);
  return { perSecond, latencyMs: distributionOf(latencies), failures };
});

/** @returns the status once the whole answer is there; 0 for none */
function send(
  { baseUrl, apiKey }: ApiClientMessage,
  agent: Agent,
  { method, path, body }: ApiRequest,
): Promise<number> {
  const headers = {
    Authorization: `Bearer ${apiKey}`,
    ...(body !== undefined && { 'Content-Type': 'application/json' }),
  };
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
