import { type FieldError, type Problem, problemType } from '@tocsin/contracts/errors';
import { CliError, type Failure } from '../terminal/cli-error.ts';

export class ApiError extends CliError {
  /** Null if no response arrived. */
  readonly status: number | null;
  readonly errors: readonly FieldError[];
  /** True if the response to an earlier attempt, which may have succeeded, was lost. */
  readonly followsLostResponse: boolean;

  constructor(
    message: string,
    status: number | null,
    errors: readonly FieldError[] = [],
    cause?: unknown,
    followsLostResponse = false,
  ) {
    const lines = errors.map(({ path, message: text }) => `  ${path === '' ? 'body' : path}: ${text}`);
    super(message, lines, cause, failureOf(status));
    this.status = status;
    this.errors = errors;
    this.followsLostResponse = followsLostResponse;
  }
}

/** A server that responds with 500 or 504 is available, but the request failed. */
const CODES: Readonly<Record<number, Failure['code']>> = {
  400: 'invalid_input',
  409: 'conflict',
  412: 'conflict',
  413: 'invalid_input',
  415: 'invalid_input',
  422: 'invalid_input',
  429: 'unavailable',
  502: 'unavailable',
  503: 'unavailable',
};

function failureOf(status: number | null): Failure {
  if (status === null) return { code: 'unavailable', retryable: true };
  return {
    code: CODES[status] ?? 'failed',
    retryable: status === 412 || status === 429 || status >= 500,
  };
}

/** @param body parsed response, or null if it is not JSON */
export function responseError(
  status: number,
  body: unknown,
  url: string,
  followsLostResponse: boolean,
): ApiError {
  if (!isProblem(body)) {
    const message = `${url} responded with ${status}. ${hintForProxy(status)}`;
    return new ApiError(message, status, [], undefined, followsLostResponse);
  }
  const reference = status >= 500 ? ` (request ${body.instance})` : '';
  const message = `${body.detail}${reference}${hintFor(body)}`;
  return new ApiError(message, status, body.errors ?? [], undefined, followsLostResponse);
}

function isProblem(body: unknown): body is Problem {
  return (
    typeof body === 'object' && body !== null && 'detail' in body && 'instance' in body && 'status' in body
  );
}

/** Explains a response that is not from the API. */
function hintForProxy(status: number): string {
  if (status === 413) return 'A proxy probably limits the size of requests. Set its limit to 32 MiB.';
  if (status >= 502 && status <= 504) return 'A proxy probably got no response from Tocsin in time.';
  return 'The server is not Tocsin. Check TOCSIN_URL.';
}

function hintFor({ status, type }: Problem): string {
  if (status === 401) return ' Set TOCSIN_API_KEY to an API key of this server.';
  if (type === problemType('forbidden')) return ' TOCSIN_API_KEY needs the scope write.';
  return '';
}
