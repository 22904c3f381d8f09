import { AppError, toProblem } from '@tocsin/contracts/errors';
import type { Logger } from '@tocsin/runtime/logger';
import type { ErrorRequestHandler, Response } from 'express';
import { isOutage } from './is-outage.ts';
import { stateOf } from './request-state.ts';

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
