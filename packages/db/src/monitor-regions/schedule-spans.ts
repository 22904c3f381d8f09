import { MAX_LATENESS_MS, OFFSET_STEP_MS, slotOffsetMs } from '@tocsin/core/schedule/slots';
import { sql, type SQL } from 'drizzle-orm';
import { NIL } from 'uuid';
import { z } from 'zod';
import type { Database, Transaction } from '../database/open.ts';
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
import { type RefusedRecord, tryTogether } from '../database/try-alone.ts';

export const schedule = z.object({ monitorId: z.string(), region: z.string(), intervalSeconds: z.number() });
type Schedule = z.output<typeof schedule>;

function planOf(schedules: readonly Schedule[]): SQL {
  return tableOf('p', schedules, {
    monitor_id: ['uuid', ({ monitorId }) => monitorId],
    region: ['text', ({ region }) => region],
    interval_seconds: ['int', ({ intervalSeconds }) => intervalSeconds],
    phase_ms: ['int', ({ monitorId, intervalSeconds }) => slotOffsetMs(monitorId, intervalSeconds * 1_000)],
  });
}

/** Gives new monitors their regions, and starts the spans of those that are not paused, in one statement. */
export async function addSchedules(tx: Transaction, schedules: readonly Schedule[]): Promise<void> {
  if (schedules.length === 0) return;
  await tx.execute(sql`
    with planned as (select * from ${planOf(schedules)}), added as (
      insert into monitor_regions (monitor_id, region) select monitor_id, region from planned
    )
    insert into schedule_spans (monitor_id, region, starts_at, interval_seconds, phase_ms)
    select monitor_id, region, (select ${clockNow}), interval_seconds, phase_ms from planned
    where (select m.enabled from monitors m where m.id = monitor_id)`);
}

/** Makes the running spans of locked monitors match their regions and intervals, all at the same millisecond of PostgreSQL's clock. Paused monitors have none. */
export async function replanSpans(tx: Transaction, monitorIds: readonly string[]): Promise<void> {
  if (monitorIds.length === 0) return;
  const ids = arrayOf('uuid', monitorIds);
  const planned = await query(tx, schedule)`
    select r.monitor_id, r.region, m.interval_seconds from monitor_regions r join monitors m on m.id = r.monitor_id
    where r.monitor_id = any(${ids}) and m.enabled`;
  // The boundary is now, but later than every start of these monitors' spans and no earlier than any end, because a clock may step back.
  const { boundary } = await queryOne(tx, z.object({ boundary: z.number() }))`
    select ${epochMs(sql`greatest(${clockNow}, max(starts_at) + interval '1 millisecond', max(ends_at))`)} as boundary
    from schedule_spans where monitor_id = any(${ids})`;
  const at = timestamptz(boundary);
  const plan = planOf(planned);
  await tx.execute(sql`
    update schedule_spans s set ends_at = ${endOfSpan(boundary)}
    where s.monitor_id = any(${ids}) and s.ends_at is null and not exists (
      select from ${plan}
      where p.monitor_id = s.monitor_id and p.region = s.region and p.interval_seconds = s.interval_seconds
        and p.phase_ms = s.phase_ms)`);
  await tx.execute(sql`
    insert into schedule_spans (monitor_id, region, starts_at, interval_seconds, phase_ms)
    select p.monitor_id, p.region, ${at}, p.interval_seconds, p.phase_ms from ${plan}
    where not exists (
      select from schedule_spans s
      where s.monitor_id = p.monitor_id and s.region = p.region and s.ends_at is null)`);
}

/**
 * Returns the end of span `s`. This is now, unless pausing its monitor keeps the last check from running. The span then ends at the slot of
 * that check, which would otherwise be a gap.
 */
function endOfSpan(now: number): SQL {
  const slot = sql`(${now}::bigint - 1 - (${now}::bigint - 1 - s.phase_ms) % (s.interval_seconds * 1000::bigint))`;
  const slotAt = sql`to_timestamp(${slot} / 1000.0)`;
  return sql`case when ${slot} > ${now - MAX_LATENESS_MS}::bigint and ${slotAt} > s.starts_at
    and exists (select from monitors m where m.id = s.monitor_id and not m.enabled)
    and exists (
      select from monitor_regions r
      where r.monitor_id = s.monitor_id and r.region = s.region and not r.recent_slots @> array[${slot}])
    then ${slotAt} else ${timestamptz(now)} end`;
}

const MAX_ALIGN_BATCH_SIZE = 1_000;

/** True if monitor `m` has running spans although it is paused, or they do not match its regions, interval and offset. */
const IS_MISALIGNED = sql`(
      exists (
        select from monitor_regions r where r.monitor_id = m.id and m.enabled and not exists (
          select from schedule_spans s where s.monitor_id = m.id and s.region = r.region
            and s.ends_at is null and s.interval_seconds = m.interval_seconds
            and s.phase_ms % ${OFFSET_STEP_MS} = 1))
      or exists (
        select from schedule_spans s where s.monitor_id = m.id and s.ends_at is null and not (m.enabled and exists (
          select from monitor_regions r where r.monitor_id = m.id and r.region = s.region))))`;

/**
 * Repairs running spans that do not match the monitors' regions, interval and offset. Locked monitors are left for the next call.
 * @param onRefused called for each monitor whose spans PostgreSQL refuses even alone
 * @returns the number of repaired monitors
 */
export async function alignSpans(db: Database, onRefused: OnRefused = () => undefined): Promise<number> {
  return forMonitors(
    db,
    { isMeant: IS_MISALIGNED, maxBatchSize: MAX_ALIGN_BATCH_SIZE, onRefused },
    async (tx, ids) => {
      const locked = await queryColumn(tx)`
      select m.id from monitors m where m.id = any(${arrayOf('uuid', ids)}) and ${IS_MISALIGNED}
      order by m.id for no key update of m skip locked`;
      await replanSpans(tx, locked);
      return locked;
    },
  );
}

/** Monitors per batch, whose checks are recorded only slightly later. */
const MAX_MOVE_BATCH_SIZE = 500;

/**
 * Moves monitors without a list of regions to the default region, after that setting has changed. The reconciler then applies their schedules
 * there, and removes those in the former region. Each batch commits separately.
 * @param onRefused called for each monitor whose move PostgreSQL refuses even alone
 * @returns the number of moved monitors
 */
export async function alignDefaultRegion(
  db: Database,
  defaultRegion: string,
  onRefused: OnRefused = () => undefined,
): Promise<number> {
  const isElsewhere = sql`m.regions = '{}' and not (
      exists (select from monitor_regions r where r.monitor_id = m.id and r.region = ${defaultRegion})
      and not exists (select from monitor_regions r where r.monitor_id = m.id and r.region <> ${defaultRegion}))`;
  return forMonitors(
    db,
    { isMeant: isElsewhere, maxBatchSize: MAX_MOVE_BATCH_SIZE, onRefused },
    async (tx, ids) => {
      const locked = await queryColumn(tx)`
      select m.id from monitors m where m.id = any(${arrayOf('uuid', ids)}) and ${isElsewhere}
      order by m.id for no key update of m`;
      await moveLocked(tx, defaultRegion, locked);
      return locked;
    },
  );
}

async function moveLocked(tx: Transaction, defaultRegion: string, moved: readonly string[]): Promise<void> {
  const ids = arrayOf('uuid', moved);
  await tx.execute(
    sql`delete from monitor_regions where monitor_id = any(${ids}) and region <> ${defaultRegion}`,
  );
  await tx.execute(sql`
    insert into monitor_regions (monitor_id, region) select id, ${defaultRegion} from unnest(${ids}) as u (id)
    on conflict do nothing`);
  await replanSpans(tx, moved);
}

type OnRefused = (monitor: RefusedRecord) => void;

/** Handles all monitors `m` that meet a condition, one transaction per batch. @returns the number of monitors that `work` handled */
async function forMonitors(
  db: Database,
  { isMeant, maxBatchSize, onRefused }: { isMeant: SQL; maxBatchSize: number; onRefused: OnRefused },
  work: (tx: Transaction, ids: readonly string[]) => Promise<string[]>,
): Promise<number> {
  let handled = 0;
  for (let after: string | undefined = NIL; after !== undefined;) {
    const ids: string[] = await queryColumn(db)`
      select m.id from monitors m where m.id > ${after} and ${isMeant} order by m.id limit ${maxBatchSize}`;
    const handle = (tx: Transaction, some: readonly { readonly id: string }[]): Promise<string[]> =>
      work(
        tx,
        some.map(({ id }) => id),
      );
    let monitors: readonly { readonly id: string }[] = ids.map((id) => ({ id }));
    while (monitors.length > 0) {
      const { results, untried } = await tryTogether(db, monitors, handle, onRefused);
      handled += results.length;
      monitors = untried;
    }
    after = ids.at(-1);
  }
  return handled;
}
