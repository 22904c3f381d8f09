import { sql } from 'drizzle-orm';
import { arrayOf } from '../database/arrays.ts';
import { listPartitions } from '../database/partitions.ts';
import type { Database } from '../database/open.ts';

/** Monitors whose traces are looked for together. */
const MONITORS_AT_ONCE = 1_000;
/** Rows that one statement deletes: it ends long before its timeout, and holds locks for a moment only. */
const ROWS_AT_ONCE = 5_000;

/**
 * Deletes the events and rollups that deleted monitors have left, in small steps. Safe to run by several processes at once, and
 * to be killed: a monitor is forgotten once nothing of it is there.
 * @param signal ends it after the step under way; the rest goes another time
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
    for (const table of ['events', 'check_rollups']) {
      for (const partition of await listPartitions(db, table)) {
        await emptyPartition(db, partition, ids, rowsAtOnce, signal);
        if (signal?.aborted === true) return purged;
      }
    }
    await db.execute(sql`delete from deleted_monitors where monitor_id = any(${arrayOf('uuid', ids)})`);
    purged += ids.length;
  }
}

async function emptyPartition(
  db: Database,
  partition: string,
  ids: readonly string[],
  rowsAtOnce: number,
  signal: AbortSignal | undefined,
): Promise<void> {
  const name = sql.identifier(partition);
  for (;;) {
    // Waits for rows that another process is deleting: what is skipped might come back.
    const { rowCount } = await db.execute(sql`
      delete from ${name} where ctid = any(array(
        select ctid from ${name} where monitor_id = any(${arrayOf('uuid', ids)}) limit ${rowsAtOnce}))`);
    if (rowCount === 0 || signal?.aborted === true) return;
  }
}
