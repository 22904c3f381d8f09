import { AppError } from '@tocsin/contracts/errors';
import { DrizzleQueryError } from 'drizzle-orm';
import { DatabaseError } from 'pg';

function databaseError(error: unknown): DatabaseError | null {
  const cause = error instanceof DrizzleQueryError ? error.cause : error;
  return cause instanceof DatabaseError ? cause : null;
}

/** The unique constraint or index that a write broke, or null for any other error. */
export function brokenUniqueConstraint(error: unknown): string | null {
  const cause = databaseError(error);
  return cause?.code === '23505' ? (cause.constraint ?? '') : null;
}

/** Whether Postgres refused the data itself (SQLSTATE class 22 or 23): trying the same again cannot help. */
export function isDataError(error: unknown): boolean {
  return /^2[23]/.test(databaseError(error)?.code ?? '');
}

/**
 * Whether Postgres answered and refused, so that the cause may lie in what it was asked. False where it could not be reached or is shutting
 * down, starting up, read-only or out of resources: the same statement succeeds later.
 */
export function isRefusal(error: unknown): boolean {
  const code = databaseError(error)?.code;
  return code !== undefined && !/^(08|53|57P|58|25006)/.test(code);
}

/**
 * Whether Postgres refused for a reason that passes by itself: a deadlock (class 40), a time-out of a statement or a lock, too few
 * resources (53), an operator or a shutdown (57).
 */
export function isTemporary(error: unknown): boolean {
  return /^(40|53|57|55P03)/.test(databaseError(error)?.code ?? '');
}

/** Whether a statement took longer than its time limit, or waited too long for a lock. */
export function isTimeout(error: unknown): boolean {
  return /^(57014|55P03)$/.test(databaseError(error)?.code ?? '');
}

/** Whether a statement gave up waiting for a lock. */
export function isLockTimeout(error: unknown): boolean {
  return databaseError(error)?.code === '55P03';
}

/** Whether a statement named a table that does not exist (any more). */
export function isMissingTable(error: unknown): boolean {
  return databaseError(error)?.code === '42P01';
}

/** Whether a row found no partition to go to: the day's partition has not been made yet. */
export function isMissingPartition(error: unknown): boolean {
  const cause = databaseError(error);
  return cause?.code === '23514' && cause.message.includes('no partition of relation');
}

/** The fault of a `before` that names no row of the list it pages through. */
export function unknownCursor(message: string): AppError {
  return new AppError('validation_failed', 'These fields are not valid: before.', {
    errors: [{ path: 'before', message }],
  });
}
