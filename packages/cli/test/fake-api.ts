import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach } from '@jest/globals';
import { ApiClient } from '@tocsin-monitor/cli/http/api-client';
import type { Event } from '@tocsin/contracts/monitors/events';
import type { Monitor } from '@tocsin/contracts/monitors/monitor';
import { EVENT, MONITOR } from '@tocsin/contracts/routes/examples';

export const at = (second: number): string => new Date(Date.UTC(2026, 0, 1) + second * 1_000).toISOString();

export function monitorOf(id: string, lastCheckedAt: string | null = null): Monitor {
  const own = { id, name: id, externalId: id, source: null, labels: {}, headers: null, assertions: null };
  return { ...MONITOR, ...own, lastCheckedAt };
}

export function eventOf(monitorId: string, second: number, status: 'UP' | 'DOWN' = 'UP'): Event {
  const cause = { errorReason: null, errorDetail: null };
  return {
    ...EVENT,
    ...cause,
    id: `${monitorId}-${second}`,
    monitorId,
    monitorName: monitorId,
    status,
    timestamp: at(second),
  };
}

/** Handles one request. */
export type Handler = (req: IncomingMessage, res: ServerResponse) => void;

export const respond =
  (status: number, body: string | Buffer = '{}', headers: Record<string, string> = {}): Handler =>
  (_, res) =>
    res.writeHead(status, headers).end(body);

export const json = (body: unknown, headers?: Record<string, string>): Handler =>
  respond(200, JSON.stringify(body), headers);

export const lost: Handler = (req) => req.socket.destroy();

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
