import { sql } from 'drizzle-orm';
import type { PgDatabase, PgQueryResultHKT } from 'drizzle-orm/pg-core';

/** Postgres' clock, epoch milliseconds. */
export async function readClock(db: PgDatabase<PgQueryResultHKT>): Promise<number> {
  const [row] = await db
    .select({ now: sql<number>`(extract(epoch from clock_timestamp()) * 1000)::float8` })
    .from(sql`(values (1)) as one`);
  return row?.now ?? 0;
}
