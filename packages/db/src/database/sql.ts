import { sql, type SQL } from 'drizzle-orm';
import { type PgTimestampBuilderInitial, timestamp } from 'drizzle-orm/pg-core';
import type { PgDatabase, PgQueryResultHKT } from 'drizzle-orm/pg-core';
import type { Queryable } from './open.ts';

/** An instant with millisecond precision: what the wire can carry, so that reading back equals writing. */
export function instant(name: string): PgTimestampBuilderInitial<string> {
  return timestamp(name, { withTimezone: true, precision: 3, mode: 'date' });
}

/** Postgres' clock in whole milliseconds: the only clock that stamps rows. */
export const clockNow = sql`date_trunc('milliseconds', clock_timestamp())`;

/** A JavaScript array as one Postgres array parameter (Drizzle would spread it into a list). */
export function arrayOf(type: string, values: readonly unknown[]): SQL {
  return sql`${sql.param(values)}::${sql.raw(type)}[]`;
}

/** One column of many rows as one array parameter, for `unnest`. */
export function columnOf<Row>(rows: readonly Row[], type: string, pick: (row: Row) => unknown): SQL {
  return arrayOf(type, rows.map(pick));
}

/** Postgres' clock, epoch milliseconds. */
export async function readClock(db: PgDatabase<PgQueryResultHKT>): Promise<number> {
  const [row] = await db
    .select({ now: sql<number>`(extract(epoch from clock_timestamp()) * 1000)::float8` })
    .from(sql`(values (1)) as one`);
  return row?.now ?? 0;
}

/** Postgres' clock in whole milliseconds, the only one that says when a window starts and ends. */
export async function readDatabaseClock(db: Queryable): Promise<Date> {
  const { rows } = await db.execute<{ now: number }>(
    sql`select floor(extract(epoch from clock_timestamp()) * 1000)::float8 as now`,
  );
  const [row] = rows;
  if (!row) throw new Error('the clock was not read');
  return new Date(row.now);
}
