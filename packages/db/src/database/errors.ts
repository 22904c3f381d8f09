import { AppError } from '@tocsin/contracts/errors';
import { DrizzleQueryError } from 'drizzle-orm';
import { DatabaseError } from 'pg';
import { ZodError } from 'zod';

function databaseError(error: unknown): DatabaseError | null {
  const cause = error instanceof DrizzleQueryError ? error.cause : error;
  return cause instanceof DatabaseError ? cause : null;
}

/** The unique constraint or index that a write violated, or null for any other error. */
export function violatedUniqueConstraint(error: unknown): string | null {
  const cause = databaseError(error);
  return cause?.code === '23505' ? (cause.constraint ?? '') : null;
}

/** Tests the SQLSTATE of a Postgres error. */
function hasCode(codes: RegExp) {
  return (error: unknown): boolean => codes.test(databaseError(error)?.code ?? '');
}

const isInvalid = hasCode(/^2[23]/);
/** Whether Postgres rejected the data itself (class 22 or 23): a retry cannot help, unless a partition is missing. */
export function isDataError(error: unknown): boolean {
  return isInvalid(error) && !isMissingPartition(error);
}
const isRejected = hasCode(/^(?!08|53|57P|58|25006)./);
/**
 * Whether Postgres rejected the statement itself, or our code failed over what it read. False if Postgres was unreachable, shutting down,
 * starting up, read-only or overloaded.
 */
export function isRefusal(error: unknown): boolean {
  return [TypeError, RangeError, ZodError].some((type) => error instanceof type) || isRejected(error);
}
/** Whether the reason is temporary: a deadlock (class 40), a timeout, too few resources (53), a shutdown (57). */
export const isTemporary = hasCode(/^(40|53|57|55P03)/);
/** Whether a statement took longer than its time limit, or waited too long for a lock. */
export const isTimeout = hasCode(/^(57014|55P03)$/);
/** Whether a statement timed out waiting for a lock. */
export const isLockTimeout = hasCode(/^55P03$/);
/** Whether a table of the statement does not exist (any more). */
export const isMissingTable = hasCode(/^42P01$/);

/** Whether a row has no partition: the day's partition has not been made yet. */
export function isMissingPartition(error: unknown): boolean {
  const cause = databaseError(error);
  return cause?.code === '23514' && cause.message.includes('no partition of relation');
}

/** The same error for an unknown id and for the id of another account's record. */
export function notFound(noun: string): AppError {
  return new AppError('not_found', `There is no ${noun} with this id.`);
}

/** The row of a query by id. @throws AppError not_found if there is none */
export function requireFound<Row>([row]: readonly Row[], noun: string): Row {
  if (row === undefined) throw notFound(noun);
  return row;
}
