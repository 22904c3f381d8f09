import { sql } from 'drizzle-orm';
import { waitForRollUp } from '../check-rollups/rollup-state.ts';
import { arrayOf } from '../database/arrays.ts';
import { isMissingTable } from '../database/errors.ts';
import type { Database } from '../database/open.ts';
import { listPartitions } from '../database/partitions.ts';

/** Monitors whose history is deleted together. */
const MONITORS_AT_ONCE = 1_000;
/** Rows that one statement deletes: it ends long before its timeout, and holds locks for a moment only. */
const ROWS_AT_ONCE = 5_000;

/**
 * Deletes the events, rollups and incidents of deleted monitors in small steps. Several processes may run it at once, and it may be
 * killed at any time: a monitor is forgotten only when nothing of it is left.
 * @param signal ends it after the current step; the next call continues
 * @returns how many monitors were forgotten
 */
export async function purgeDeletedMonitors(
  db: Database,
  signal?: AbortSignal,
  rowsAtOnce: number = ROWS_AT_ONCE,
): Promise<number> {
  for (let purged = 0; ;) {
    const { rows } = await db.execute<{ monitor_id: string }>(
      sql`select monitor_id from deleted_monitors order by deleted_at, monitor_id limit ${MONITORS_AT_ONCE}`,
    );
    const ids = rows.map((row) => row.monitor_id);
    if (ids.length === 0) return purged;
    await waitForRollUp(db);
    for (const table of await tablesOfHistory(db)) {
      await emptyTable(db, table, ids, rowsAtOnce, signal).catch((error: unknown) => {
        // A partition that was dropped meanwhile is as empty as it can be.
        if (!isMissingTable(error)) throw error;
      });
      if (signal?.aborted === true) return purged;
    }
    await db.execute(sql`delete from deleted_monitors where monitor_id = any(${arrayOf('uuid', ids)})`);
    purged += ids.length;
  }
}

/** Partitions one by one: a row's address is unique only within its partition. */
async function tablesOfHistory(db: Database): Promise<string[]> {
  return [
    ...(await listPartitions(db, 'events')),
    ...(await listPartitions(db, 'check_rollups')),
    'incidents',
  ];
}

async function emptyTable(
  db: Database,
  table: string,
  ids: readonly string[],
  rowsAtOnce: number,
  signal: AbortSignal | undefined,
): Promise<void> {
  const name = sql.identifier(table);
  for (;;) {
    // Waits for rows that another process is deleting: a row that is skipped could come back.
    const { rowCount } = await db.execute(sql`
      delete from ${name} where ctid = any(array(
        select ctid from ${name} where monitor_id = any(${arrayOf('uuid', ids)}) limit ${rowsAtOnce}))`);
    if (rowCount === 0 || signal?.aborted === true) return;
  }
}
