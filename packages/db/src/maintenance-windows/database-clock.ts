import { sql } from 'drizzle-orm';
import type { Queryable } from '../database/open.ts';

/** Postgres' clock in whole milliseconds, the only one that says when a window starts and ends. */
export async function readDatabaseClock(db: Queryable): Promise<Date> {
  const { rows } = await db.execute<{ now: number }>(
    sql`select floor(extract(epoch from clock_timestamp()) * 1000)::float8 as now`,
  );
  const [row] = rows;
  if (!row) throw new Error('the clock was not read');
  return new Date(row.now);
}
