import { type FieldError, type Problem, problemSchema } from '@tocsin/contracts/errors';
import { ACCOUNT_HEADER, USER_HEADER } from '@tocsin/contracts/identity/user-header';
import { type ClientRequest, createClient } from '@tocsin/contracts/routes/client';
import type { DashboardRoutes } from '@tocsin/contracts/routes/routes';
import { accountOfRequests } from '../session/account-in-path.ts';
import { sessionGate } from './session-gate.ts';

/** A problem response from the API (RFC 9457), or a request without a response. */
export class ApiError extends Error {
  override readonly name = 'ApiError';
  /** 0 if there was no response. */
  readonly status: number;
  readonly title: string;
  readonly fields: readonly FieldError[];
  /** Identifies the request in the API's logs. Null if there was no response. */
  readonly requestId: string | null;
  /** Delay before a retry. Null if the server did not specify one. */
  readonly retryAfterMs: number | null;

  constructor(
    problem: Pick<Problem, 'status' | 'title' | 'detail'> & Partial<Problem>,
    retryAfterMs: number | null = null,
  ) {
    super(problem.detail);
    this.status = problem.status;
    this.title = problem.title;
    this.fields = problem.errors ?? [];
    this.requestId = problem.instance ?? null;
    this.retryAfterMs = retryAfterMs;
  }
}

export function describeError(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** @param status such as `404` */
export function isStatus(error: unknown, status: number): boolean {
  return error instanceof ApiError && error.status === status;
}

/** True if the error names invalid fields. Forms show it at those fields. */
export function isAboutFields(error: unknown): boolean {
  return error instanceof ApiError && error.fields.length > 0;
}

/** Requests to the API with the session's cookie. They reject with an `ApiError`. */
export const api = createClient<DashboardRoutes>(send);

async function send(request: ClientRequest): Promise<unknown> {
  const { path } = request;
  if (!(await sessionGate.pass(path))) throw new ApiError(SIGNED_OUT);
  const { response, text } = await receive(request);
  if (response.status === 401 && (await sessionGate.end(path))) return send(request);
  if (response.status === 204) return undefined;
  if (!response.ok) throw toApiError(response, text);
  return JSON.parse(text) as unknown;
}

const SIGNED_OUT = { status: 401, title: 'Not signed in', detail: 'Your session has ended. Sign in.' };

/** Bounds the wait on a dead connection. */
const TIMEOUT_MS = 30_000;
/** Checks and test webhooks have their own deadlines, and reports run one at a time. */
const LONG_TIMEOUT_MS = 300_000;
const LONG = /\/(?:reports|trigger|test)(?:[/?]|$)/;

/** @throws ApiError with status 0 if there is no complete response */
async function receive(request: ClientRequest): Promise<{ response: Response; text: string }> {
  const { method, path, body, headers, signal } = request;
  const userId = sessionGate.userOf(path);
  const account = accountOfRequests();
  const timeout = AbortSignal.timeout(LONG.test(path) ? LONG_TIMEOUT_MS : TIMEOUT_MS);
  try {
    const response = await fetch(path, {
      method,
      credentials: 'same-origin',
      headers: {
        ...(body !== undefined && { 'Content-Type': 'application/json' }),
        ...(userId !== null && { [USER_HEADER]: userId }),
        ...(account !== null && { [ACCOUNT_HEADER]: account }),
        ...headers,
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
      signal: signal ? AbortSignal.any([signal, timeout]) : timeout,
    });
    return { response, text: await response.text() };
  } catch (error) {
    if (signal?.aborted) throw error;
    throw new ApiError({
      status: 0,
      title: 'No connection',
      detail:
        method === 'GET'
          ? 'Tocsin is unreachable. Check your connection.'
          : 'Tocsin is unreachable. The change may or may not have been applied. Check before you try again.',
    });
  }
}

/** Replaces messages of better-auth. */
const AUTH_ERRORS: Readonly<Record<string, Pick<Problem, 'title' | 'detail'>>> = {
  'Invalid email or password': {
    title: 'Sign-in failed',
    detail: 'The email address or the password is wrong.',
  },
  'Invalid password': { title: 'Password not changed', detail: 'The current password is wrong.' },
};

function toApiError({ status, headers }: Response, text: string): ApiError {
  const retryAfter = headers.get('Retry-After');
  try {
    const json: unknown = JSON.parse(text);
    const problem = problemSchema.safeParse(json);
    if (problem.success)
      return new ApiError(problem.data, retryAfter === null ? null : Number(retryAfter) * 1_000);
    // better-auth routes have their own error format.
    if (typeof json === 'object' && json !== null && 'message' in json)
      return new ApiError({
        status,
        ...(AUTH_ERRORS[String(json.message)] ?? { title: 'Error', detail: String(json.message) }),
      });
  } catch {
    // A proxy may respond with HTML.
  }
  return new ApiError({ status, title: 'Error', detail: `The server responded with status ${status}.` });
}
