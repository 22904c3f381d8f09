import type { Wave } from '@tocsin/core/schedule/slots';
import { sql } from 'drizzle-orm';
import type { Database, Queryable } from '../database/open.ts';
import { prepared } from '../database/preparing-client.ts';
import { arrayOf, columnOf } from '../database/sql.ts';

/** One schedule that Postgres wants: a monitor in one region. */
export interface RegionSchedule {
  readonly monitorId: string;
  readonly region: string;
  readonly revision: number;
  readonly intervalSeconds: number;
  /**
   * Slot of the first check, epoch milliseconds, that a monitor without any result gets at once; null: it has results. A new
   * revision has a new one: the result of the former may be recorded already, without effect.
   */
  readonly firstSlot: number | null;
}

type ScheduleRow = Record<string, unknown> & {
  monitor_id: string;
  region: string;
  revision: number;
  interval_seconds: number;
  first_slot: number | null;
};

function toSchedule(row: ScheduleRow): RegionSchedule {
  return {
    monitorId: row.monitor_id,
    region: row.region,
    revision: row.revision,
    intervalSeconds: row.interval_seconds,
    firstSlot: row.first_slot,
  };
}

const scheduleColumns = sql`r.monitor_id, r.region, m.revision, m.interval_seconds,
  case when coalesce(m.status_before_maintenance, m.status) = 'PENDING'
    then floor(extract(epoch from m.created_at) * 1000)::float8 + m.revision - 1 end as first_slot`;

/**
 * Schedules that are not in the queue's store as far as Postgres knows: new or changed.
 * @param exceptRegions left out, so that a region whose store is away does not fill the list
 */
export async function listUnappliedSchedules(
  db: Database,
  limit: number,
  exceptRegions: readonly string[] = [],
): Promise<RegionSchedule[]> {
  const { rows } = await db.execute<ScheduleRow>(sql`
    select ${scheduleColumns} from monitor_regions r join monitors m on m.id = r.monitor_id
    where r.scheduled_revision is distinct from m.revision
      and r.region <> all(${arrayOf('text', exceptRegions)})
    limit ${limit}`);
  return rows.map(toSchedule);
}

/** The given monitors' schedules in one region; a monitor that is gone, or not of that region, is not in it. */
export async function findSchedules(
  db: Database,
  region: string,
  monitorIds: readonly string[],
): Promise<RegionSchedule[]> {
  const { rows } = await db.execute<ScheduleRow>(sql`
    select ${scheduleColumns} from monitor_regions r join monitors m on m.id = r.monitor_id
    where r.region = ${region} and r.monitor_id = any(${arrayOf('uuid', monitorIds)})`);
  return rows.map(toSchedule);
}

/** A schedule that was put into the queue's store. */
export interface AppliedSchedule {
  readonly monitorId: string;
  readonly region: string;
  readonly revision: number;
}

/**
 * Notes which schedules are applied, only where the revision still is the monitor's (design §4 "Schedules"). Rows that a
 * checker is writing are left to the reconciler: waiting for them while holding others could end in a deadlock.
 */
export async function markScheduled(db: Queryable, applied: readonly AppliedSchedule[]): Promise<void> {
  if (applied.length === 0) return;
  await db.execute(sql`
    with free as (
      select r.monitor_id, r.region, m.revision
      from unnest(
        ${columnOf(applied, 'uuid', (schedule) => schedule.monitorId)},
        ${columnOf(applied, 'text', (schedule) => schedule.region)},
        ${columnOf(applied, 'int', (schedule) => schedule.revision)}
      ) as u (monitor_id, region, revision)
      join monitors m on m.id = u.monitor_id and m.revision = u.revision
      join monitor_regions r on r.monitor_id = u.monitor_id and r.region = u.region
      for no key update of r skip locked)
    update monitor_regions r set scheduled_revision = free.revision
    from free where r.monitor_id = free.monitor_id and r.region = free.region`);
}

type WaveRow = Record<string, unknown> & { region: string; interval_seconds: number; phase_ms: number };

/** Every region that checks something, with its waves. @param region only this one */
export async function listWaves(db: Database, region: string | null = null): Promise<Map<string, Wave[]>> {
  const { rows } = await db.execute<WaveRow>(sql`
    select distinct region, interval_seconds, phase_ms from schedule_spans
    where ends_at is null ${region === null ? sql`` : sql`and region = ${region}`}`);
  const waves = new Map<string, Wave[]>();
  for (const row of rows) {
    const wave = { intervalSeconds: row.interval_seconds, phaseMs: row.phase_ms };
    const known = waves.get(row.region);
    if (known) known.push(wave);
    else waves.set(row.region, [wave]);
  }
  return waves;
}

/** A monitor that a wave checks. */
export interface WaveMember {
  readonly monitorId: string;
  readonly revision: number;
}

/**
 * Whom a wave of a region checks now (ADR 11).
 * @param unrecordedSlot leaves out those of which this slot is recorded, epoch milliseconds: of a job that runs again;
 * undefined leaves out nobody
 */
export async function listWaveMembers(
  db: Database,
  region: string,
  { intervalSeconds, phaseMs }: Wave,
  unrecordedSlot?: number,
): Promise<WaveMember[]> {
  const unrecorded =
    unrecordedSlot === undefined
      ? sql``
      : sql`and not exists (
          select from monitor_regions r
          where r.monitor_id = s.monitor_id and r.region = s.region and r.recent_slots @> array[${unrecordedSlot}::bigint])`;
  const { rows } = await db.execute<{ id: string; revision: number }>(sql`${prepared}
    select m.id, m.revision from schedule_spans s join monitors m on m.id = s.monitor_id
    where s.region = ${region} and s.interval_seconds = ${intervalSeconds} and s.phase_ms = ${phaseMs}
      and s.ends_at is null ${unrecorded}`);
  return rows.map(({ id, revision }) => ({ monitorId: id, revision }));
}
