import { slotOffsetMs, OFFSET_STEP_MS } from '@tocsin/core/schedule/slots';
import { sql, type SQL } from 'drizzle-orm';
import { z } from 'zod';
import type { Database, Queryable, Transaction } from '../database/open.ts';
import {
  arrayOf,
  clockNow,
  epochMs,
  query,
  queryColumn,
  queryOne,
  tableOf,
  timestamptz,
} from '../database/sql.ts';

/** The interval at which a region checks a monitor. */
export const schedule = z.object({ monitorId: z.string(), region: z.string(), intervalSeconds: z.number() });
type Schedule = z.output<typeof schedule>;

/** Schedules as a table `p`. */
function planOf(schedules: readonly Schedule[]): SQL {
  return tableOf('p', schedules, {
    monitor_id: ['uuid', ({ monitorId }) => monitorId],
    region: ['text', ({ region }) => region],
    interval_seconds: ['int', ({ intervalSeconds }) => intervalSeconds],
    offset_ms: ['int', ({ monitorId, intervalSeconds }) => slotOffsetMs(monitorId, intervalSeconds * 1_000)],
  });
}

/** Gives new monitors their regions, and starts the spans there, in one statement. */
export async function addSchedules(tx: Transaction, schedules: readonly Schedule[]): Promise<void> {
  if (schedules.length === 0) return;
  await tx.execute(sql`
    with planned as (select * from ${planOf(schedules)}), added as (
      insert into monitor_regions (monitor_id, region) select monitor_id, region from planned
    )
    insert into schedule_spans (monitor_id, region, starts_at, interval_seconds, offset_ms)
    select monitor_id, region, (select ${clockNow}), interval_seconds, offset_ms from planned`);
}

/**
 * Makes the running spans of the monitors match their regions and intervals: other spans end, and missing ones start, at the same
 * millisecond of Postgres' clock. The caller holds the monitors' row locks.
 */
export async function replanSpans(tx: Transaction, monitorIds: readonly string[]): Promise<void> {
  if (monitorIds.length === 0) return;
  const ids = arrayOf('uuid', monitorIds);
  const planned = await query(tx, schedule)`
    select r.monitor_id, r.region, m.interval_seconds from monitor_regions r join monitors m on m.id = r.monitor_id
    where r.monitor_id = any(${ids})`;
  // Now, but after every start of these monitors' spans and no earlier than any end: a clock may step back.
  const { boundary } = await queryOne(tx, z.object({ boundary: z.number() }))`
    select ${epochMs(sql`greatest(${clockNow}, max(starts_at) + interval '1 millisecond', max(ends_at))`)} as boundary
    from schedule_spans where monitor_id = any(${ids})`;
  const at = timestamptz(boundary);
  const plan = planOf(planned);
  await tx.execute(sql`
    update schedule_spans s set ends_at = ${at}
    where s.monitor_id = any(${ids}) and s.ends_at is null and not exists (
      select from ${plan}
      where p.monitor_id = s.monitor_id and p.region = s.region and p.interval_seconds = s.interval_seconds
        and p.offset_ms = s.offset_ms)`);
  await tx.execute(sql`
    insert into schedule_spans (monitor_id, region, starts_at, interval_seconds, offset_ms)
    select p.monitor_id, p.region, ${at}, p.interval_seconds, p.offset_ms from ${plan}
    where not exists (
      select from schedule_spans s
      where s.monitor_id = p.monitor_id and s.region = p.region and s.ends_at is null)`);
}

/** Monitors that one transaction aligns. */
const ALIGNED_AT_ONCE = 1_000;

/**
 * Repairs the running spans that do not match the monitors' regions, interval and offset. Locked monitors are left for the next call.
 * @returns how many monitors had such spans
 */
export async function alignSpans(db: Queryable): Promise<number> {
  let aligned = 0;
  for (;;) {
    const found = await db.transaction(alignSome);
    aligned += found;
    if (found < ALIGNED_AT_ONCE) return aligned;
  }
}

async function alignSome(tx: Transaction): Promise<number> {
  const ids = await queryColumn(tx)`
    select m.id from monitors m
    where exists (
        select from monitor_regions r where r.monitor_id = m.id and not exists (
          select from schedule_spans s where s.monitor_id = m.id and s.region = r.region
            and s.ends_at is null and s.interval_seconds = m.interval_seconds
            and s.offset_ms % ${OFFSET_STEP_MS} = 1))
      or exists (
        select from schedule_spans s where s.monitor_id = m.id and s.ends_at is null and not exists (
          select from monitor_regions r where r.monitor_id = m.id and r.region = s.region))
    order by m.id limit ${ALIGNED_AT_ONCE} for no key update of m skip locked`;
  await replanSpans(tx, ids);
  return ids.length;
}

/** Monitors that one transaction moves: it delays the recording of their checks only briefly. */
const MOVED_AT_ONCE = 500;
const BEFORE_ALL = '00000000-0000-0000-0000-000000000000';

/**
 * Moves the monitors without a list of regions to the default region, after that setting has changed. The reconciler then applies their
 * schedules there, and removes those in the former region. Each batch commits by itself.
 * @returns how many monitors were moved
 */
export async function alignDefaultRegion(db: Database, defaultRegion: string): Promise<number> {
  let moved = 0;
  for (let after: string | undefined = BEFORE_ALL; after !== undefined;) {
    const from: string = after;
    const ids = await db.transaction((tx) => moveSome(tx, defaultRegion, from));
    moved += ids.length;
    after = ids.at(-1);
  }
  return moved;
}

/** @returns the moved monitors */
async function moveSome(tx: Transaction, defaultRegion: string, after: string): Promise<string[]> {
  const moved = await queryColumn(tx)`
    select m.id from monitors m
    where m.id > ${after} and m.regions = '{}' and not (
      exists (select from monitor_regions r where r.monitor_id = m.id and r.region = ${defaultRegion})
      and not exists (select from monitor_regions r where r.monitor_id = m.id and r.region <> ${defaultRegion}))
    order by m.id limit ${MOVED_AT_ONCE} for no key update of m`;
  const ids = arrayOf('uuid', moved);
  await tx.execute(
    sql`delete from monitor_regions where monitor_id = any(${ids}) and region <> ${defaultRegion}`,
  );
  await tx.execute(sql`
    insert into monitor_regions (monitor_id, region) select id, ${defaultRegion} from unnest(${ids}) as u (id)
    on conflict do nothing`);
  await replanSpans(tx, moved);
  return moved;
}
