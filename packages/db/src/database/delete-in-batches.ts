import { sql, type SQL } from 'drizzle-orm';
import type { Database } from './open.ts';

/** Rows that one statement deletes: it ends long before its timeout, and holds locks for a moment only. */
const BATCH_SIZE = 1_000;

/**
 * Deletes the rows of a table that meet a condition, however many they are. Rows that another transaction holds are left to the
 * next call.
 * @param signal ends it after the current batch; the next call continues
 * @returns how many rows were deleted
 */
export async function deleteInBatches(
  db: Database,
  table: string,
  condition: SQL,
  signal?: AbortSignal,
): Promise<number> {
  const name = sql.identifier(table);
  for (let deleted = 0; ;) {
    const { rowCount } = await db.execute(sql`
      delete from ${name} where ctid = any(array(
        select ctid from ${name} where ${condition} limit ${BATCH_SIZE} for update skip locked)) and ${condition}`);
    deleted += rowCount ?? 0;
    if ((rowCount ?? 0) < BATCH_SIZE || signal?.aborted === true) return deleted;
  }
}
