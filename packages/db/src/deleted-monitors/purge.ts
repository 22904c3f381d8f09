import { sql } from 'drizzle-orm';
import { waitForRollUp } from '../check-rollups/roll-up.ts';
import { isMissingTable } from '../database/errors.ts';
import type { Database } from '../database/open.ts';
import { listPartitions } from '../database/partitions.ts';
import { arrayOf, queryColumn } from '../database/sql.ts';

const MAX_BATCH_SIZE = 1_000;
/** Rows per statement, so that it holds locks only briefly. */
const MAX_ROWS = 5_000;

/** Deletes the history of deleted monitors in small steps, and returns how many were purged. Several processes may run it at once. */
export async function purgeDeletedMonitors(
  db: Database,
  signal?: AbortSignal,
  maxRows: number = MAX_ROWS,
): Promise<number> {
  for (let purged = 0; ;) {
    const monitorIds = await queryColumn(db)`
      select monitor_id from deleted_monitors order by deleted_at, monitor_id limit ${MAX_BATCH_SIZE}`;
    if (monitorIds.length === 0) return purged;
    const ids = arrayOf('uuid', monitorIds);
    await waitForRollUp(db);
    // Handles one partition at a time, because a row's address is unique only within its partition.
    const partitions: string[] = [];
    for (const table of ['events', 'event_blocks', 'check_rollups', 'check_days'] as const)
      partitions.push(...(await listPartitions(db, table)));
    for (const table of [...partitions, 'incidents', 'silences']) {
      const name = sql.identifier(table);
      for (let deleted = 1; deleted > 0;) {
        // The statement waits for rows that another process is deleting, because a skipped row could come back.
        const statement = sql`
          delete from ${name} where ctid = any(array(
            select ctid from ${name} where monitor_id = any(${ids}) limit ${maxRows}))`;
        deleted = await db.execute(statement).then(
          ({ rowCount }) => rowCount ?? 0,
          (error: unknown) => {
            // The partition was dropped in the meantime, so it has no rows.
            if (isMissingTable(error)) return 0;
            throw error;
          },
        );
        if (signal?.aborted === true) return purged;
      }
    }
    await db.execute(sql`delete from deleted_monitors where monitor_id = any(${ids})`);
    purged += monitorIds.length;
  }
}
