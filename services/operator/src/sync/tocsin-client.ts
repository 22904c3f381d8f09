import type { channelRoutes } from '@tocsin/contracts/channels/routes';
import type { FieldError, Problem } from '@tocsin/contracts/errors';
import type { monitorSetRoutes } from '@tocsin/contracts/monitor-sets/routes';
import type { monitorLookupRoutes, monitorRoutes } from '@tocsin/contracts/monitors/routes';
import { type Client, createClient } from '@tocsin/contracts/routes/client';
import { VERSION } from '../version.ts';

type Routes = typeof monitorRoutes &
  typeof monitorLookupRoutes &
  typeof monitorSetRoutes &
  typeof channelRoutes;
export type TocsinClient = Client<Routes>;

/** A request to Tocsin that failed. */
export class TocsinError extends Error {
  override readonly name = 'TocsinError';
  /** Null without a response. */
  readonly status: number | null;
  /** The code of the problem with hyphens, such as `quota-exceeded`, or null if the response is not from Tocsin. */
  readonly code: string | null;
  readonly errors: readonly FieldError[];
  /** Quota that the request would exceed, or null. `used` is the usage after the request. */
  readonly quota: { readonly quota: string; readonly limit: number; readonly used: number } | null;
  readonly retryAfterMs: number;

  constructor(
    message: string,
    status: number | null,
    problem: Problem | null,
    options: ErrorOptions & { retryAfterMs?: number } = {},
  ) {
    super(message, options);
    this.status = status;
    this.code = problem?.type.split(':').at(-1) ?? null;
    this.errors = problem?.errors ?? [];
    const { quota, limit, used } = problem ?? {};
    this.quota =
      quota === undefined || limit === undefined || used === undefined ? null : { quota, limit, used };
    this.retryAfterMs = options.retryAfterMs ?? 0;
  }

  /** True if the same request may succeed later. */
  get isTemporary(): boolean {
    const { status, code } = this;
    return status === null || code === null || [408, 409, 412, 429].includes(status) || status >= 500;
  }
}

const TIMEOUT_MS = 60_000;

/** Creates a client of the API. Requests throw `TocsinError`, and are not repeated. */
export function createTocsinClient(url: string, apiKey: string): TocsinClient {
  const base = url.replace(/\/+$/, '');
  return createClient<Routes>(async ({ method, path, body, headers, signal }) => {
    const timeout = AbortSignal.timeout(TIMEOUT_MS);
    const init: RequestInit = {
      method,
      headers: {
        ...headers,
        Authorization: `Bearer ${apiKey}`,
        'User-Agent': `tocsin-operator/${VERSION}`,
        ...(body !== undefined && { 'Content-Type': 'application/json' }),
      },
      // A redirect would forward the key, and turn a PUT into a GET.
      redirect: 'error',
      signal: signal === undefined ? timeout : AbortSignal.any([signal, timeout]),
      ...(body !== undefined && { body: JSON.stringify(body) }),
    };
    try {
      const response = await fetch(`${base}${path}`, init);
      if (response.status === 204) return undefined;
      const received: unknown = await response.json().catch(() => null);
      if (response.ok && received !== null) return received;
      throw responseError(response, received, url);
    } catch (error) {
      if (error instanceof TocsinError) throw error;
      const { cause } = error as Error;
      const reason = cause instanceof Error ? cause.message : (error as Error).message;
      throw new TocsinError(`Tocsin cannot be reached at ${url}: ${reason}`, null, null, { cause: error });
    }
  });
}

function responseError(response: Response, received: unknown, url: string): TocsinError {
  const { status } = response;
  const retryAfterMs = Number(response.headers.get('retry-after')) * 1_000 || 0;
  if (typeof received === 'object' && received !== null && 'detail' in received && 'type' in received) {
    const problem = received as Problem;
    return new TocsinError(problem.detail, status, problem, { retryAfterMs });
  }
  return new TocsinError(`${url} responded with ${status}, but not as Tocsin does`, status, null, {
    retryAfterMs,
  });
}
