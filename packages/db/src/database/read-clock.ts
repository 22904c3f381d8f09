import { sql } from 'drizzle-orm';
import type { Queryable } from './open.ts';

/** Postgres' clock, epoch milliseconds. */
export async function readClock(db: Queryable): Promise<number> {
  const { rows } = await db.execute<{ now: number }>(
    sql`select (extract(epoch from clock_timestamp()) * 1000)::float8 as now`,
  );
  return rows[0]?.now ?? 0;
}
