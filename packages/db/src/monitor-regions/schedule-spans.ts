import { phaseMs, PHASES_APART_MS } from '@tocsin/core/schedule/slots';
import { sql, type SQL } from 'drizzle-orm';
import type { NodePgDatabase } from 'drizzle-orm/node-postgres';
import type { Database, Transaction } from '../database/open.ts';
import { arrayOf, clockNow, columnOf } from '../database/sql.ts';

/** That a region is to check a monitor every so many seconds. */
export interface PlannedSchedule {
  readonly monitorId: string;
  readonly region: string;
  readonly intervalSeconds: number;
}

/**
 * Makes the running spans of the monitors those that are planned: what differs ends, what is missing starts at the same
 * millisecond of Postgres' clock. The caller holds the monitors' row locks.
 */
export async function replanSpans(
  tx: Transaction,
  monitorIds: readonly string[],
  planned: readonly PlannedSchedule[],
): Promise<void> {
  const at = await nextBoundary(tx, monitorIds);
  const plan = sql`unnest(
    ${columnOf(planned, 'uuid', (schedule) => schedule.monitorId)},
    ${columnOf(planned, 'text', (schedule) => schedule.region)},
    ${columnOf(planned, 'int', (schedule) => schedule.intervalSeconds)},
    ${columnOf(planned, 'int', (schedule) => phaseMs(schedule.monitorId, schedule.intervalSeconds * 1_000))}
  ) as p (monitor_id, region, interval_seconds, phase_ms)`;
  await tx.execute(sql`
    update schedule_spans s set ends_at = ${at}
    where s.monitor_id = any(${arrayOf('uuid', monitorIds)}) and s.ends_at is null and not exists (
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

/** Now, but after every start of these monitors' spans and no earlier than any end: a clock may step back. */
async function nextBoundary(tx: Transaction, monitorIds: readonly string[]): Promise<string> {
  const { rows } = await tx.execute<{ at: number }>(sql`
    select (extract(epoch from
      greatest(${clockNow}, max(starts_at) + interval '1 millisecond', max(ends_at))) * 1000)::float8 as at
    from schedule_spans where monitor_id = any(${arrayOf('uuid', monitorIds)})`);
  const [row] = rows;
  if (!row) throw new Error('the clock was not read');
  return new Date(row.at).toISOString();
}

const MONITORS_AT_ONCE = 1_000;

/**
 * Mends the running spans that are not what the monitors are checked by: those of monitors older than the table, or written
 * by a process of a former version, whose phases lay on no grid. A monitor that is being written is left to the next time.
 * @returns how many monitors had such spans
 */
export async function alignSpans(db: NodePgDatabase): Promise<number> {
  let aligned = 0;
  for (;;) {
    const found = await alignSome(db);
    aligned += found;
    if (found < MONITORS_AT_ONCE) return aligned;
  }
}

async function alignSome(db: NodePgDatabase): Promise<number> {
  return db.transaction(async (tx) => {
    const { rows: monitors } = await tx.execute<{ id: string }>(sql`
      select m.id from monitors m
      where exists (
          select from monitor_regions r where r.monitor_id = m.id and not exists (
            select from schedule_spans s where s.monitor_id = m.id and s.region = r.region
              and s.ends_at is null and s.interval_seconds = m.interval_seconds
              and s.phase_ms % ${PHASES_APART_MS} = 1))
        or exists (
          select from schedule_spans s where s.monitor_id = m.id and s.ends_at is null and not exists (
            select from monitor_regions r where r.monitor_id = m.id and r.region = s.region))
      order by m.id limit ${MONITORS_AT_ONCE} for no key update of m skip locked`);
    if (monitors.length === 0) return 0;
    const ids = monitors.map(({ id }) => id);
    const { rows } = await tx.execute<{ monitor_id: string; region: string; interval_seconds: number }>(sql`
      select r.monitor_id, r.region, m.interval_seconds
      from monitor_regions r join monitors m on m.id = r.monitor_id
      where r.monitor_id = any(${arrayOf('uuid', ids)})`);
    await replanSpans(
      tx,
      ids,
      rows.map((row) => ({
        monitorId: row.monitor_id,
        region: row.region,
        intervalSeconds: row.interval_seconds,
      })),
    );
    return ids.length;
  });
}

/** Monitors whose rows one transaction holds: recording waits for none of them for long. */
const BATCH = 500;
const BEFORE_ALL = '00000000-0000-0000-0000-000000000000';

/**
 * Moves the monitors without a list of regions to the default region, where that setting was changed since they were written.
 * Their schedules there are then applied by the reconciler, and those of the former region removed. Batch by batch, each
 * under its monitors' locks; what is done stays done where a later batch fails.
 * @returns how many monitors were moved
 */
export async function alignDefaultRegion(db: Database, defaultRegion: string): Promise<number> {
  let moved = 0;
  let after = BEFORE_ALL;
  for (;;) {
    const batch = await alignBatch(db, defaultRegion, after);
    moved += batch.moved;
    if (batch.last === null) return moved;
    after = batch.last;
  }
}

/** @returns the id up to which all are aligned; null: all are */
async function alignBatch(
  db: Database,
  defaultRegion: string,
  after: string,
): Promise<{ moved: number; last: string | null }> {
  return db.transaction(async (tx) => {
    const { rows: found } = await tx.execute<{ id: string }>(sql`
      select m.id from monitors m
      where m.id > ${after} and m.regions = '{}' and not (
        exists (select from monitor_regions r where r.monitor_id = m.id and r.region = ${defaultRegion})
        and not exists (select from monitor_regions r where r.monitor_id = m.id and r.region <> ${defaultRegion}))
      order by m.id limit ${BATCH}`);
    if (found.length === 0) return { moved: 0, last: null };
    // One that was given regions of its own meanwhile is left alone.
    const { rows: locked } = await tx.execute<{ id: string; interval_seconds: number }>(sql`
      select id, interval_seconds from monitors
      where id = any(${idsOf(found)}) and regions = '{}' order by id for no key update`);
    const { rowCount } = await tx.execute(sql`
      delete from monitor_regions where monitor_id = any(${idsOf(locked)}) and region <> ${defaultRegion}`);
    await tx.execute(sql`
      insert into monitor_regions (monitor_id, region) select id, ${defaultRegion} from unnest(${idsOf(locked)}) as u (id)
      on conflict do nothing`);
    const planned = locked.map((row) => ({
      monitorId: row.id,
      region: defaultRegion,
      intervalSeconds: row.interval_seconds,
    }));
    await replanSpans(
      tx,
      planned.map(({ monitorId }) => monitorId),
      planned,
    );
    return { moved: rowCount ?? 0, last: found.at(-1)?.id ?? null };
  });
}

function idsOf(rows: readonly { id: string }[]): SQL {
  return arrayOf(
    'uuid',
    rows.map((row) => row.id),
  );
}
