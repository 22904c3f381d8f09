import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach } from '@jest/globals';
import { ApiClient } from '@tocsin-monitor/cli/http/api-client';
import type { Event } from '@tocsin/contracts/monitors/events';
import { createMonitorSchema, type Monitor } from '@tocsin/contracts/monitors/monitor';

export const at = (second: number): string => new Date(Date.UTC(2026, 0, 1) + second * 1_000).toISOString();

const INPUT = createMonitorSchema.parse({ name: 'a', url: 'https://x.example', externalId: 'a' });

export function monitorOf(id: string, lastCheckedAt: string | null): Monitor {
  const input = { ...INPUT, name: id, externalId: id };
  const stamps = { statusSince: at(0), createdAt: at(0), updatedAt: at(0) };
  return { id, ...input, status: 'UP', errorDetail: null, lastCheckedAt, ...stamps };
}

export function eventOf(monitorId: string, second: number, status: 'UP' | 'DOWN' = 'UP'): Event {
  const timings = { dns: null, tcp: null, tls: null, firstByte: null, download: null };
  return {
    id: `${monitorId}-${second}`,
    monitorId,
    monitorName: monitorId,
    status,
    latency: 1,
    statusCode: 200,
    errorReason: null,
    errorDetail: null,
    inconclusive: false,
    hasResponse: false,
    region: 'default',
    timestamp: at(second),
    source: 'schedule',
    url: null,
    timings,
    runbookUrl: null,
  };
}

/** Handles one request. */
export type Handler = (req: IncomingMessage, res: ServerResponse) => void;
export const json =
  (body: unknown, headers: Record<string, string> = {}): Handler =>
  (_, res) =>
    res.writeHead(200, headers).end(JSON.stringify(body));
export const lost: Handler = (req) => req.socket.destroy();
export const badGateway: Handler = (_, res) => res.writeHead(502).end('<html>');
export const unavailable: Handler = (_, res) => res.writeHead(503).end('{}');
export const tooMany: Handler = (_, res) => res.writeHead(429).end('{}');
export const otherVersion: Handler = (_, res) =>
  res.writeHead(412).end(JSON.stringify({ status: 412, detail: 'The resource has changed.', instance: 'r' }));

const servers: Server[] = [];
afterEach(() => {
  for (const server of servers.splice(0)) {
    server.close();
    server.closeAllConnections();
  }
});

/** A client of a server with one handler per request. */
export async function clientOf(
  handlers: readonly Handler[],
): Promise<{ client: ApiClient; url: string; retries: string[]; seen: IncomingMessage[]; bodies: string[] }> {
  const remaining = [...handlers];
  const seen: IncomingMessage[] = [];
  const bodies: string[] = [];
  const server = createServer((req, res) => {
    seen.push(req);
    let body = '';
    req.on('data', (bytes: Buffer) => (body += String(bytes)));
    req.once('end', () => {
      bodies.push(body);
      remaining.shift()?.(req, res);
    });
  });
  servers.push(server);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const retries: string[] = [];
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const client = new ApiClient({
    url,
    apiKey: 'key',
    onRetry: (reason, seconds) => void retries.push(`${reason.replace(/:\d+/, '')} ${seconds}`),
    signal: new AbortController().signal,
    backoffMs: 1,
    timeoutMs: 600_000,
  });
  return { client, url, retries, seen, bodies };
}
