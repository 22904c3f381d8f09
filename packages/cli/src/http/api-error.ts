import { type FieldError, type Problem, problemType } from '@tocsin/contracts/errors';
import { CliError, type FailureCode } from '../terminal/cli-error.ts';

interface ApiErrorOptions {
  readonly errors?: readonly FieldError[] | undefined;
  readonly cause?: unknown;
  readonly followsLostResponse?: boolean;
}

export class ApiError extends CliError {
  /** Null if no response arrived. */
  readonly status: number | null;
  readonly errors: readonly FieldError[];
  /** True if the response to an earlier attempt, which may have succeeded, was lost. */
  readonly followsLostResponse: boolean;

  constructor(message: string, status: number | null, options: ApiErrorOptions = {}) {
    const { errors = [], cause, followsLostResponse = false } = options;
    const lines = errors.map(({ path, message: text }) => `  ${path === '' ? 'body' : path}: ${text}`);
    const retryable = status === null || status === 412 || status === 429 || status >= 500;
    super(message, { lines, cause, code: codeOf(status), retryable });
    this.status = status;
    this.errors = errors;
    this.followsLostResponse = followsLostResponse;
  }
}

function codeOf(status: number | null): FailureCode {
  if (status === 409 || status === 412) return 'conflict';
  // A server that responds with 500 or 504 is available, but the request failed.
  if (status === null || [429, 502, 503].includes(status)) return 'unavailable';
  return [400, 413, 415, 422].includes(status) ? 'invalid_input' : 'failed';
}

/** @param body parsed response, or null if it is not JSON */
export function responseError(
  status: number,
  body: unknown,
  url: string,
  followsLostResponse: boolean,
): ApiError {
  if (!isProblem(body))
    return new ApiError(`${url} responded with ${status}. ${hintForProxy(status)}`, status, {
      followsLostResponse,
    });
  const reference = status >= 500 ? ` (request ${body.instance})` : '';
  const { errors } = body;
  return new ApiError(`${body.detail}${reference}${hintFor(body)}`, status, { errors, followsLostResponse });
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
  if (type === problemType('quota_exceeded')) return ' Nothing was changed.';
  return '';
}
