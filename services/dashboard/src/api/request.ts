import { problemSchema } from '@tocsin/contracts/errors';
import type { FieldError, Problem } from '@tocsin/contracts/errors';

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

type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';

interface RequestOptions {
  readonly body?: unknown;
  readonly signal?: AbortSignal;
}

/**
 * Asks the api, with the cookie of the session. The types of answers are those that the api's own tests hold it to.
 * @param path as `/api/dashboard/monitors`
 * @returns the answer's JSON; undefined for a 204
 * @throws ApiError
 */
export async function request<Answer>(
  method: Method,
  path: string,
  { body, signal }: RequestOptions = {},
): Promise<Answer> {
  const response = await send(method, path, body, signal);
  if (response.status === 204) return undefined as Answer;
  const text = await response.text();
  if (response.ok) return JSON.parse(text) as Answer;
  throw toApiError(response.status, text);
}

async function send(
  method: Method,
  path: string,
  body: unknown,
  signal: AbortSignal | undefined,
): Promise<Response> {
  try {
    return await fetch(path, {
      method,
      credentials: 'same-origin',
      ...(body !== undefined && {
        headers: { 'Content-Type': 'application/json' },
        body: JSON.stringify(body),
      }),
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
          : 'Tocsin cannot be reached, so whether it was done is not known. Check your connection, look, and try again.',
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
