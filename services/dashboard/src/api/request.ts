import { problemSchema } from '@tocsin/contracts/errors';
import type { FieldError, Problem } from '@tocsin/contracts/errors';
import { type ClientRequest, createClient } from '@tocsin/contracts/routes/client';
import type { DashboardRoutes } from '@tocsin/contracts/routes/routes';

/** An answer of the API that is no success (RFC 9457), or no answer at all. */
export class ApiError extends Error {
  override readonly name = 'ApiError';
  /** 0: no answer came. */
  readonly status: number;
  readonly title: string;
  readonly fields: readonly FieldError[];
  /** By which the log of the api finds the request; null where no answer came. */
  readonly requestId: string | null;

  constructor(problem: Pick<Problem, 'status' | 'title' | 'detail'> & Partial<Problem>) {
    super(problem.detail);
    this.status = problem.status;
    this.title = problem.title;
    this.fields = problem.errors ?? [];
    this.requestId = problem.instance ?? null;
  }
}

/** What to tell a person of an error, whatever it is. */
export function describeError(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** @param status as `404` */
export function isStatus(error: unknown, status: number): boolean {
  return error instanceof ApiError && error.status === status;
}

/** Whether the error says which fields are wrong, so that it is shown beside them. */
export function isAboutFields(error: unknown): boolean {
  return error instanceof ApiError && error.fields.length > 0;
}

/** Calls an endpoint with the cookie of the session. Rejects with an ApiError. */
export const api = createClient<DashboardRoutes>(send);

/** Calls an endpoint whose response has no type. */
export async function request<Response>(
  method: ClientRequest['method'],
  path: string,
  { body, signal }: { readonly body?: unknown; readonly signal?: AbortSignal } = {},
): Promise<Response> {
  return (await send({ method, path, body, headers: {}, signal })) as Response;
}

async function send(request: ClientRequest): Promise<unknown> {
  const response = await fetchOrThrow(request);
  if (response.status === 204) return undefined;
  const text = await response.text();
  if (response.ok) return JSON.parse(text) as unknown;
  throw toApiError(response.status, text);
}

async function fetchOrThrow({ method, path, body, headers, signal }: ClientRequest): Promise<Response> {
  try {
    return await fetch(path, {
      method,
      credentials: 'same-origin',
      headers: { ...headers, ...(body !== undefined && { 'Content-Type': 'application/json' }) },
      ...(body !== undefined && { body: JSON.stringify(body) }),
      ...(signal && { signal }),
    });
  } catch (error) {
    if (signal?.aborted) throw error;
    throw new ApiError({
      status: 0,
      title: 'No connection',
      detail:
        method === 'GET'
          ? 'Tocsin cannot be reached. Check your connection.'
          : 'Tocsin cannot be reached, and your change may or may not be saved. Check your connection, reload the page, and try again.',
    });
  }
}

function toApiError(status: number, text: string): ApiError {
  try {
    const json: unknown = JSON.parse(text);
    const problem = problemSchema.safeParse(json);
    if (problem.success) return new ApiError(problem.data);
    // Signing in answers errors of its own form.
    if (typeof json === 'object' && json !== null && 'message' in json)
      return new ApiError({ status, title: 'Refused', detail: String(json.message) });
  } catch {
    // A proxy in front may answer HTML.
  }
  return new ApiError({ status, title: 'Error', detail: `The server answered ${status}.` });
}
