import { once } from 'node:events';
import { createServer } from 'node:http';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { listen } from './listen.ts';
import type { ListenAddress } from './listen.ts';
import type { Metrics } from './metrics.ts';

const CHECK_TIMEOUT_MS = 2000;

/** Each resolves if all is well and rejects with the reason if not; one that takes over 2 s counts as failed. */
export type HealthChecks = Readonly<Record<string, () => Promise<void>>>;

export interface HealthOptions {
  /** Does the process itself work, e.g. does its work progress? A failing one gets it restarted. */
  readonly live?: HealthChecks;
  /** Do its stores answer? A failing one takes it out of the load balancer. */
  readonly ready: HealthChecks;
  readonly metrics: Metrics;
}

interface HealthResponse {
  readonly status: number;
  readonly contentType: string;
  readonly body: string;
}

/** @param target path and query of the request */
export type HealthHandler = (target: string) => Promise<HealthResponse | null>;

/**
 * Answers /healthz, /readyz and /metrics (design §3); null for any other path. `?exclude=queue` leaves that check out, as
 * Kubernetes' own `/readyz` does: where all replicas share a store, there is no better one to send requests to.
 */
export function createHealthHandler(options: HealthOptions): HealthHandler {
  return async function healthResponse(target) {
    const [path = '', query = ''] = target.split('?', 2);
    switch (path) {
      case '/healthz':
        return runChecks(options.live ?? {});
      case '/readyz':
        return runChecks(without(options.ready, new URLSearchParams(query).getAll('exclude')));
      case '/metrics':
        return {
          status: 200,
          contentType: options.metrics.contentType,
          body: await options.metrics.metrics(),
        };
      default:
        return null;
    }
  };
}

function without(checks: HealthChecks, excluded: readonly string[]): HealthChecks {
  return Object.fromEntries(Object.entries(checks).filter(([name]) => !excluded.includes(name)));
}

async function runChecks(checks: HealthChecks): Promise<HealthResponse> {
  const results = await Promise.all(
    Object.entries(checks).map(async ([name, check]) => [name, await outcome(check)] as const),
  );
  const failing = Object.fromEntries(results.filter(([, reason]) => reason !== null));
  const failed = Object.keys(failing).length > 0;
  return {
    status: failed ? 503 : 200,
    contentType: 'application/json; charset=utf-8',
    body: JSON.stringify(failed ? { status: 'failing', failing } : { status: 'ok' }),
  };
}

/** Null if it passed, else a word that is safe to show: this endpoint needs no key. */
async function outcome(check: () => Promise<void>): Promise<string | null> {
  let timer: NodeJS.Timeout | undefined;
  const timeout = new Promise<string>((resolve) => {
    timer = setTimeout(resolve, CHECK_TIMEOUT_MS, 'timeout');
  });
  const result = Promise.resolve()
    .then(check)
    .then(
      () => null,
      () => 'failed',
    );
  try {
    return await Promise.race([result, timeout]);
  } finally {
    clearTimeout(timer);
  }
}

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
