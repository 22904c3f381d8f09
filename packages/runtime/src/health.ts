import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { listen, type ListenAddress } from './listen.ts';
import type { Metrics } from './metrics.ts';
import { withTimeout } from './timeout.ts';

const CHECK_TIMEOUT_MS = 2000;

/** A check fails if it rejects or takes longer than 2 s. */
export type HealthChecks = Readonly<Record<string, () => Promise<void>>>;

export interface HealthOptions {
  /** Fail if the process makes no progress. The orchestrator then restarts it. */
  readonly live?: HealthChecks;
  /** Fail if a store does not respond. The load balancer then sends no requests. */
  readonly ready: HealthChecks;
  readonly metrics: Metrics;
}

interface HealthResponse {
  readonly status: number;
  readonly contentType: string;
  readonly body: string;
}

export type HealthHandler = (target: string) => Promise<HealthResponse | null>;

/** Handles /healthz, /readyz and /metrics. Resolves to null for other paths. `?exclude=queue` skips a check, as in Kubernetes. */
export function createHealthHandler({ live = {}, ready, metrics }: HealthOptions): HealthHandler {
  return async (target) => {
    const [path = '', query = ''] = target.split('?', 2);
    if (path === '/healthz') return runChecks(live, []);
    if (path === '/readyz') return runChecks(ready, new URLSearchParams(query).getAll('exclude'));
    if (path !== '/metrics') return null;
    return { status: 200, contentType: metrics.contentType, body: await metrics.metrics() };
  };
}

async function runChecks(checks: HealthChecks, excluded: readonly string[]): Promise<HealthResponse> {
  const failing: Record<string, string> = {};
  const included = Object.entries(checks).filter(([name]) => !excluded.includes(name));
  const run = async ([name, check]: (typeof included)[number]): Promise<void> => {
    // The response has no details, because the endpoint needs no API key.
    const failed = (async () => check())().then(
      () => null,
      () => 'failed',
    );
    const reason = await withTimeout(failed, CHECK_TIMEOUT_MS, 'timeout');
    if (reason !== null) failing[name] = reason;
  };
  await Promise.all(included.map(run));
  const isFailing = Object.keys(failing).length > 0;
  return {
    status: isFailing ? 503 : 200,
    contentType: 'application/json; charset=utf-8',
    body: JSON.stringify(isFailing ? { status: 'failing', failing } : { status: 'ok' }),
  };
}

export interface HealthServer {
  readonly port: number;
  stop(): Promise<void>;
}

/** @throws SettingsError if it cannot listen */
export async function startHealthServer(options: HealthOptions & ListenAddress): Promise<HealthServer> {
  const handler = createHealthHandler(options);
  const server = createServer((request, response) => void respond(handler, request, response));
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

async function respond(
  handler: HealthHandler,
  { method, url = '/' }: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  try {
    const isRead = method === 'GET' || method === 'HEAD';
    const result = isRead ? await handler(url) : null;
    response.writeHead(result?.status ?? (isRead ? 404 : 405), {
      'Content-Type': result?.contentType ?? 'text/plain; charset=utf-8',
      'Cache-Control': 'no-store',
    });
    response.end(result?.body ?? (isRead ? 'Not found\n' : 'Method not allowed\n'));
  } catch {
    // Only collecting metrics can fail.
    response.writeHead(500).end();
  }
}
