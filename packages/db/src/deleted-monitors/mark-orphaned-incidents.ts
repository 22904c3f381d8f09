import { sql } from 'drizzle-orm';
import type { Database } from '../database/open.ts';

/** Monitors that one statement looks at: each is one step in an index. */
const MONITORS_AT_ONCE = 1_000;

/**
 * Marks monitors that are gone and have left incidents, for `purgeDeletedMonitors`. During an upgrade, services of the previous
 * release leave such incidents: they delete a monitor without a tombstone, or purge its events and rollups alone.
 * @param signal ends it after the current step; the next call starts over
 * @returns how many monitors were marked
 */
export async function markOrphanedIncidents(
  db: Database,
  signal?: AbortSignal,
  monitorsAtOnce: number = MONITORS_AT_ONCE,
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
