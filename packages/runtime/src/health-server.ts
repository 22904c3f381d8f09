import { once } from 'node:events';
import { createServer } from 'node:http';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { SettingsError } from './env.ts';
import { errorCode } from './error-code.ts';
import { createHealthHandler } from './health.ts';
import type { HealthHandler, HealthOptions } from './health.ts';

export interface HealthServerOptions extends HealthOptions {
  /** 0 for any free one. */
  readonly port: number;
  /** Default: all addresses, since probes come from outside the container. */
  readonly host?: string;
}

export interface HealthServer {
  readonly port: number;
  stop(): Promise<void>;
}

/** A small server of its own for services that have no other one. Throws a `SettingsError` if the port is taken. */
export async function startHealthServer(options: HealthServerOptions): Promise<HealthServer> {
  const handler = createHealthHandler(options);
  const server = createServer((request, response) => {
    void answer(handler, request, response);
  });
  server.listen(options.port, options.host);
  try {
    await once(server, 'listening');
  } catch (error) {
    if (errorCode(error) === 'EADDRINUSE') {
      throw new SettingsError(
        `HEALTH_PORT must be a free port, but ${options.port} is in use: set HEALTH_PORT to another one, or to 0 for any free one`,
      );
    }
    throw error;
  }
  const address = server.address();
  return {
    port: typeof address === 'object' && address !== null ? address.port : options.port,
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
