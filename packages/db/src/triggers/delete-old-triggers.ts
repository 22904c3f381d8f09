import { lt, sql } from 'drizzle-orm';
import type { Database } from '../database/open.ts';
import { triggers } from './table.ts';

/** Deletes triggers that nobody waits for any more. @returns how many */
export async function deleteOldTriggers(db: Database): Promise<number> {
  const deleted = await db.delete(triggers).where(lt(triggers.createdAt, sql`now() - interval '1 hour'`));
  return deleted.rowCount ?? 0;
}
