import { AppError, toProblem } from '@tocsin/contracts/errors';
import type { Logger } from '@tocsin/runtime/logger';
import type { ErrorRequestHandler, Response } from 'express';
import { stateOf } from './request-state.ts';

/**
 * What Node says where a server cannot be reached, and Postgres (SQLSTATE) where it takes no work for now, or gave this up
 * since others held it up for too long.
 */
const CODES =
  /^(ECONNREFUSED|ECONNRESET|EPIPE|ETIMEDOUT|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH|ENETUNREACH|57P0[123]|53300|08\w{3}|25006|25P0[34]|55P03|57014|40P01)$/;
/** What pg says without a code; the last one of a rollback after its connection broke. */
const MESSAGES =
  /Connection terminated|timeout exceeded when trying to connect|Postgres has been silent|is not queryable/;
const DEEPEST_CAUSE = 5;

/** Whether an error says that the database cannot be reached for now, so that the same request may work later. */
export function isOutage(error: unknown, depth: number = 0): boolean {
  if (typeof error !== 'object' || error === null || depth > DEEPEST_CAUSE) return false;
  const { code, message, cause } = error as { code?: unknown; message?: unknown; cause?: unknown };
  if (typeof code === 'string' && CODES.test(code)) return true;
  if (typeof message === 'string' && MESSAGES.test(message)) return true;
  return isOutage(cause, depth + 1);
}

/** The one place where errors become answers: `application/problem+json` (RFC 9457, design §3). */
export function handleErrors(logger: Logger): ErrorRequestHandler {
  return function answerError(error: unknown, _req, res, next) {
    const { requestId } = stateOf(res);
    const known = toAppError(error);
    if (known.code === 'internal') logger.error('A request failed', { requestId, error });
    if (known.code === 'unavailable') logger.warn('A request could not be served now', { requestId, error });
    // Half an answer is out: Express can only cut the connection.
    if (res.headersSent) next(error);
    else sendProblem(res, known, requestId);
  };
}

function sendProblem(res: Response, error: AppError, requestId: string): void {
  res.status(error.status).set(error.headers).type('application/problem+json');
  res.json(toProblem(error, requestId));
}

/** Anything unexpected is `internal`, and nothing of it is shown. */
function toAppError(error: unknown): AppError {
  if (error instanceof AppError) return error;
  if (isOutage(error)) return unavailable('The database cannot be reached now. Try again soon.', error);
  return new AppError('internal', 'Something went wrong on our side.', { cause: error });
}

/** 503: the same request may work in a few seconds. `cause` is logged only. */
export function unavailable(detail: string, cause?: unknown): AppError {
  return new AppError('unavailable', detail, { headers: { 'Retry-After': '5' }, cause });
}
