import { once } from 'node:events';
import { createServer } from 'node:http';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createHealthHandler } from './health.ts';
import type { HealthHandler, HealthOptions } from './health.ts';
import { listen } from './listen.ts';
import type { ListenAddress } from './listen.ts';

export type HealthServerOptions = HealthOptions & ListenAddress;

export interface HealthServer {
  readonly port: number;
  stop(): Promise<void>;
}

/** A small server of its own for services that have no other one. @throws SettingsError where it cannot listen */
export async function startHealthServer(options: HealthServerOptions): Promise<HealthServer> {
  const handler = createHealthHandler(options);
  const server = createServer((request, response) => {
    void answer(handler, request, response);
  });
  const port = await listen(server, options, { port: 'HEALTH_PORT', host: 'HEALTH_HOST' });
  return {
    port,
    async stop() {
      const closed = once(server, 'close');
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
}

async function answer(
  handler: HealthHandler,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  try {
    const isRead = request.method === 'GET' || request.method === 'HEAD';
    const result = isRead ? await handler(request.url ?? '/') : null;
    response.writeHead(result?.status ?? (isRead ? 404 : 405), {
      'Content-Type': result?.contentType ?? 'text/plain; charset=utf-8',
      'Cache-Control': 'no-store',
    });
    response.end(result?.body ?? (isRead ? 'Not found\n' : 'Method not allowed\n'));
  } catch {
    // Only collecting the metrics can fail; the caller sees that, and the next scrape tries again.
    response.writeHead(500).end();
  }
}
