import { sql } from 'drizzle-orm';
import { waitForRollUp } from '../check-rollups/roll-up.ts';
import { isMissingTable } from '../database/errors.ts';
import type { Database } from '../database/open.ts';
import { listPartitions } from '../database/partitions.ts';
import { arrayOf } from '../database/sql.ts';

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

/** Monitors that one statement looks at: each is one step in an index. */
const MARKED_AT_ONCE = 1_000;

/**
 * Marks monitors that are gone and have left incidents, for `purgeDeletedMonitors`. During an upgrade, services of the previous
 * release leave such incidents: they delete a monitor without a tombstone, or purge its events and rollups alone.
 * @param signal ends it after the current step; the next call starts over
 * @returns how many monitors were marked
 */
export async function markOrphanedIncidents(
  db: Database,
  signal?: AbortSignal,
  monitorsAtOnce: number = MARKED_AT_ONCE,
): Promise<number> {
  let marked = 0;
  let after: string | null = null;
  do {
    const step = await markNext(db, after, monitorsAtOnce);
    marked += step.marked;
    after = step.last;
    if (signal?.aborted === true) break;
  } while (after !== null);
  return marked;
}

/**
 * @param after the monitor where the last step ended; null: the first step
 * @returns where this step ended; null: there are no more incidents
 */
async function markNext(
  db: Database,
  after: string | null,
  limit: number,
): Promise<{ last: string | null; marked: number }> {
  const next = sql`select i.monitor_id from incidents i`;
  const first = after === null ? sql`` : sql`where i.monitor_id > ${after}::uuid`;
  const { rows } = await db.execute<{ last: string | null; marked: number }>(sql`
    with recursive step (id, number) as (
      select (${next} ${first} order by i.monitor_id limit 1), 1
      union all
      select (${next} where i.monitor_id > step.id order by i.monitor_id limit 1), step.number + 1
      from step where step.id is not null and step.number < ${limit}::int),
    marked as (
      insert into deleted_monitors (monitor_id)
      select step.id from step where step.id is not null and not exists (select from monitors m where m.id = step.id)
      on conflict do nothing returning monitor_id)
    select (select id from step where number = ${limit}::int) as last, (select count(*) from marked)::int as marked`);
  return rows[0] ?? { last: null, marked: 0 };
}
