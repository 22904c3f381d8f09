import type { FieldError, Problem } from '@tocsin/contracts/errors';
import { CliError } from '../terminal/cli-error.ts';

/** What the API answered instead of what was asked for. */
export class ApiError extends CliError {
  /** Null where no answer came. */
  readonly status: number | null;
  readonly errors: readonly FieldError[];
  /** Whether the request was sent before with an answer that was lost: it may have been heeded then. */
  readonly followsLostAnswer: boolean;

  constructor(
    message: string,
    status: number | null,
    errors: readonly FieldError[] = [],
    cause?: unknown,
    followsLostAnswer = false,
  ) {
    super(
      message,
      errors.map(({ path, message: fault }) => `  ${path === '' ? 'body' : path}: ${fault}`),
      cause,
    );
    this.status = status;
    this.errors = errors;
    this.followsLostAnswer = followsLostAnswer;
  }

  /** Whether the same request may work later. */
  get isPassing(): boolean {
    return this.status === null || this.status === 429 || this.status >= 500;
  }
}

/** @param body what came, JSON or not */
export function toApiError(status: number, body: unknown, url: string, followsLostAnswer: boolean): ApiError {
  if (!isProblem(body)) {
    const guess = `${url} answered ${status}, ${guessOf(status)}`;
    return new ApiError(guess, status, [], undefined, followsLostAnswer);
  }
  const reference = status >= 500 ? ` (request ${body.instance})` : '';
  const message = `${body.detail}${reference}${adviceOf(status)}`;
  return new ApiError(message, status, body.errors ?? [], undefined, followsLostAnswer);
}

/** What stands before the API answers in its own way. */
function guessOf(status: number): string {
  if (status === 413) return 'as a proxy does that takes no body of this size: have it take 32 MiB.';
  if (status >= 502 && status <= 504) return 'as a proxy does that Tocsin does not answer in time.';
  return 'and not as Tocsin does: is TOCSIN_URL right?';
}

function isProblem(body: unknown): body is Problem {
  return (
    typeof body === 'object' && body !== null && 'detail' in body && 'instance' in body && 'status' in body
  );
}

function adviceOf(status: number): string {
  if (status === 401) return ' Set TOCSIN_API_KEY to a key of this server.';
  if (status === 403) return ' TOCSIN_API_KEY is a key that may only read.';
  return '';
}
