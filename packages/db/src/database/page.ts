import { AppError } from '@tocsin/contracts/errors';
import { and, eq, sql, type SQL } from 'drizzle-orm';
import type { PgColumn, PgTable } from 'drizzle-orm/pg-core';
import type { Queryable } from './open.ts';
import { epochMs, timestamptz } from './sql.ts';

/** Condition for the next page of a list ordered by time, then id, descending. @throws AppError validation_failed for an unknown `before` */
export async function pageAfter(
  db: Queryable,
  list: { table: PgTable; time: PgColumn; id: PgColumn; scope: SQL | undefined; message: string },
  before: string | undefined,
): Promise<SQL | undefined> {
  if (before === undefined) return undefined;
  const { table, time, id, scope, message } = list;
  const isCursor = and(eq(id, before), scope);
  const [cursor] = await db
    .select({ time: epochMs(time) })
    .from(table)
    .where(isCursor);
  if (cursor) return sql`(${time}, ${id}) < (${timestamptz(cursor.time)}, ${before}::uuid)`;
  throw new AppError('validation_failed', 'These fields are invalid: before.', {
    errors: [{ path: 'before', message }],
  });
}
