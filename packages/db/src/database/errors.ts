import { AppError } from '@tocsin/contracts/errors';
import { DrizzleQueryError, sql } from 'drizzle-orm';
import { DatabaseError } from 'pg';
import { ZodError } from 'zod';
import type { Database } from './open.ts';
import { queryColumn } from './sql.ts';

function databaseError(error: unknown): DatabaseError | null {
  const cause = error instanceof DrizzleQueryError ? error.cause : error;
  return cause instanceof DatabaseError ? cause : null;
}

/** Returns the unique constraint or index that a write violated, or null for any other error. */
export function violatedUniqueConstraint(error: unknown): string | null {
  const cause = databaseError(error);
  return cause?.code === '23505' ? (cause.constraint ?? '') : null;
}

function hasCode(codes: RegExp) {
  return (error: unknown): boolean => codes.test(databaseError(error)?.code ?? '');
}

const isInvalid = hasCode(/^2[23]/);
/** Reports whether PostgreSQL rejected the data itself (class 22 or 23). A retry cannot help then, unless a partition is missing. */
export function isDataError(error: unknown): boolean {
  return isInvalid(error) && !isMissingPartition(error);
}
const isRejected = hasCode(/^(?!08|53|57P|58|25006)./);
/** Reports whether PostgreSQL rejected the statement, or our code failed on its result. False if PostgreSQL was unavailable or overloaded. */
export function isRefusal(error: unknown): boolean {
  return [TypeError, RangeError, ZodError].some((type) => error instanceof type) || isRejected(error);
}
/** The cause may pass, because it is a deadlock (class 40), a timeout, a lack of resources (53) or a shutdown (57). */
export const isTemporary = hasCode(/^(40|53|57|55P03)/);
/** A statement exceeded its time limit, or waited too long for a lock. */
export const isTimeout = hasCode(/^(57014|55P03)$/);
export const isLockTimeout = hasCode(/^55P03$/);
export const isMissingTable = hasCode(/^42P01$/);

/** Reports whether the partition of the row's day has not been created yet. */
export function isMissingPartition(error: unknown): boolean {
  const cause = databaseError(error);
  return cause?.code === '23514' && cause.message.includes('no partition of relation');
}

/** The same error for an unknown id and for another account's id. */
export function notFound(noun: string, key: 'id' | 'externalId' = 'id'): AppError {
  return new AppError('not_found', `There is no ${noun} with this ${key}.`);
}

/**
 * Checks `If-Match` on a locked row.
 * @param versions known to the caller, or null for any version
 * @throws AppError precondition_failed
 */
export function requireVersion(noun: string, current: string, versions: ReadonlySet<string> | null): void {
  if (versions === null || versions.has(current)) return;
  throw new AppError(
    'precondition_failed',
    `The ${noun} has changed since you read it. Read it again, and send If-Match with its ETag.`,
  );
}

/** Returns the row of a query by id or externalId. @throws AppError not_found without one */
export function requireFound<Row>([row]: readonly Row[], noun: string, by?: 'id' | 'externalId'): Row {
  if (row === undefined) throw notFound(noun, by);
  return row;
}

/** The unique indexes of `externalId`. */
export const EXTERNAL_ID_KEYS: Readonly<Record<string, 'monitor' | 'channel' | 'maintenance window'>> = {
  monitors_external_id_key: 'monitor',
  channels_external_id_key: 'channel',
  maintenance_windows_external_id_key: 'maintenance window',
};

/** Translates the error of a transaction that wrote an externalId. @throws AppError conflict if it is taken, otherwise the error itself */
export function rethrowConflict(
  db: Database,
  accountId: string,
  externalId: string | null | undefined,
): (error: unknown) => Promise<never> {
  return async (error) => {
    const noun = EXTERNAL_ID_KEYS[violatedUniqueConstraint(error) ?? ''];
    if (noun === undefined) throw error;
    const isLive = sql.raw(noun === 'channel' ? 'deleted_at is null' : 'true');
    // The other monitor or channel may have been deleted in the meantime.
    const [conflictingId] = await queryColumn(db)`
      select id from ${sql.raw(`${noun.replace(' ', '_')}s`)}
      where account_id = ${accountId} and external_id = ${externalId} and ${isLive}`;
    throw new AppError('conflict', `Another ${noun} of this account has externalId "${externalId}".`, {
      errors: [
        { path: 'externalId', code: 'conflict', message: `is taken by another ${noun} of this account` },
      ],
      ...(conflictingId !== undefined && { conflictingId }),
      cause: error,
    });
  };
}
