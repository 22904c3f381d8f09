import { AppError, type FieldError, toProblem } from '@tocsin/contracts/errors';
import { toFieldErrors } from '@tocsin/contracts/field-errors';
import type { Logger } from '@tocsin/runtime/logger';
import type { ErrorRequestHandler, Response } from 'express';
import type { z } from 'zod';
import { stateOf } from './request-state.ts';

/** Node's codes for an unreachable server, and Postgres' codes (SQLSTATE) if it accepts no work or canceled a blocked statement. */
const CODES =
  /^(ECONNREFUSED|ECONNRESET|EPIPE|ETIMEDOUT|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH|ENETUNREACH|57P0[123]|53300|08\w{3}|25006|25P0[34]|55P03|57014|40P01)$/;
/** Messages of pg without a code. The last one comes from a rollback after the connection broke. */
const MESSAGES =
  /Connection terminated|timeout exceeded when trying to connect|Postgres has been silent|is not queryable/;
const MAX_CAUSE_DEPTH = 5;

/** True if the database is temporarily unavailable. */
export function isOutage(error: unknown, depth: number = 0): boolean {
  if (typeof error !== 'object' || error === null || depth > MAX_CAUSE_DEPTH) return false;
  const { code, message, cause } = error as { code?: unknown; message?: unknown; cause?: unknown };
  if (typeof code === 'string' && CODES.test(code)) return true;
  if (typeof message === 'string' && MESSAGES.test(message)) return true;
  return isOutage(cause, depth + 1);
}

/** The only place where errors become responses: `application/problem+json` (RFC 9457). */
export function handleErrors(logger: Logger): ErrorRequestHandler {
  return function handleError(error: unknown, _req, res, next) {
    const { requestId } = stateOf(res);
    const known = toAppError(error);
    if (known.code === 'internal') logger.error('A request failed', { requestId, error });
    if (known.code === 'unavailable') logger.warn('A request could not be served', { requestId, error });
    // Part of the response was sent, so Express can only cut the connection.
    if (res.headersSent) next(error);
    else sendProblem(res, known, requestId);
  };
}

function sendProblem(res: Response, error: AppError, requestId: string): void {
  res.status(error.status).set(error.headers).type('application/problem+json');
  res.json(toProblem(error, requestId));
}

/** Unexpected errors become `internal`, without details. */
function toAppError(error: unknown): AppError {
  if (error instanceof AppError) return error;
  if (isOutage(error)) return unavailable('The database is unavailable. Try again later.', error);
  return new AppError('internal', 'An unexpected error occurred.', { cause: error });
}

/** A 503 to retry in a few seconds. `cause` is only logged. */
export function unavailable(detail: string, cause?: unknown): AppError {
  return new AppError('unavailable', detail, { headers: { 'Retry-After': '5' }, cause });
}

/** For waiting requests when the server stops. */
export function stopping(): AppError {
  return unavailable('This server is shutting down. Try again.');
}

/** Keeps the response smaller than its request. */
const MAX_FIELD_ERRORS = 100;

export function invalidFields(errors: readonly FieldError[]): AppError {
  const fields = [...new Set(errors.map(({ path }) => path))];
  const shown = fields.length > 10 ? `${fields.slice(0, 10).join(', ')}, …` : fields.join(', ');
  return new AppError('validation_failed', `These fields are invalid: ${shown}.`, {
    errors: errors.slice(0, MAX_FIELD_ERRORS),
  });
}

/** Parses fields. @param errors of rules beyond the schema @throws AppError validation_failed, with all invalid fields */
export function parseFields<Schema extends z.ZodObject>(
  schema: Schema,
  fields: unknown,
  errors: readonly FieldError[] = [],
  noun: 'field' | 'parameter' = 'field',
): z.output<Schema> {
  const result = schema.safeParse(fields);
  if (!result.success) throw invalidFields([...toFieldErrors(result.error.issues, schema, noun), ...errors]);
  if (errors.length > 0) throw invalidFields(errors);
  return result.data;
}
