import { sql } from 'drizzle-orm';
import type { Queryable } from './open.ts';

/** Throws where Postgres does not answer. */
export async function ping(db: Queryable): Promise<void> {
  await db.execute(sql`select 1`);
}
