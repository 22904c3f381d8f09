import type { CheckPlan, Wave } from '@tocsin/core/schedule/slots';
import { needsRetry } from '@tocsin/core/status/evaluate-status';
import { sql } from 'drizzle-orm';
import { z } from 'zod';
import type { Database, Queryable, Transaction } from '../database/open.ts';
import { PREPARE } from '../database/preparing-client.ts';
import { arrayOf, epochMs, query, tableOf } from '../database/sql.ts';
import { schedule } from './schedule-spans.ts';

const regionSchedule = schedule.extend({
  revision: z.number(),
  /** Slot (epoch ms) of the immediate check of a monitor without results for this revision, or null. */
  firstSlot: z.number().nullable(),
  /** False while the monitor is paused. */
  enabled: z.boolean(),
});

/** Schedule of a monitor's current revision. */
export type RegionSchedule = Readonly<z.output<typeof regionSchedule>>;

const selectSchedules = sql`
  select r.monitor_id, r.region, m.revision, m.interval_seconds, m.enabled,
    case when m.enabled and coalesce(m.status_before_maintenance, m.status) = 'PENDING'
      then floor(${epochMs(sql`m.created_at`)}) + m.revision - 1 end as first_slot
  from monitor_regions r join monitors m on m.id = r.monitor_id`;

/** Lists schedules that are not in the queue. @param exceptRegions regions whose queues fail, which would fill the list */
export async function listUnappliedSchedules(
  db: Database,
  limit: number,
  exceptRegions: readonly string[] = [],
): Promise<RegionSchedule[]> {
  return query(db, regionSchedule)`
    ${selectSchedules}
    where r.scheduled_revision is null and r.region <> all(${arrayOf('text', exceptRegions)})
    limit ${limit}`;
}

/** Reads the given monitors' schedules in one region. Omits monitors that do not exist or are not checked there. */
export async function findSchedules(
  db: Database,
  region: string,
  monitorIds: readonly string[],
): Promise<RegionSchedule[]> {
  return query(db, regionSchedule)`
    ${selectSchedules} where r.region = ${region} and r.monitor_id = any(${arrayOf('uuid', monitorIds)})`;
}

/** Marks the schedules of changed monitors as not applied. */
export async function unapplySchedules(tx: Transaction, monitorIds: readonly string[]): Promise<void> {
  if (monitorIds.length === 0) return;
  await tx.execute(sql`
    update monitor_regions set scheduled_revision = null
    where monitor_id = any(${arrayOf('uuid', monitorIds)}) and scheduled_revision is not null`);
}

export async function isRegionUsed(db: Database, region: string): Promise<boolean> {
  const { rowCount } = await db.execute(sql`select from monitor_regions where region = ${region} limit 1`);
  return rowCount === 1;
}

/** Marks all schedules of a region as not applied. */
export async function unapplyRegion(db: Database, region: string): Promise<void> {
  await db.execute(sql`
    update monitor_regions set scheduled_revision = null where region = ${region} and scheduled_revision is not null`);
}

/**
 * Marks schedules of current revisions as applied. Locked rows are left to the reconciler, because waiting for them could deadlock. The
 * monitor is locked as well. Otherwise PostgreSQL could compare its former revision and mark a changed schedule as applied.
 */
export async function markScheduled(
  db: Queryable,
  applied: readonly Pick<RegionSchedule, 'monitorId' | 'region' | 'revision'>[],
): Promise<void> {
  if (applied.length === 0) return;
  await db.execute(sql`
    with free as (
      select r.monitor_id, r.region, m.revision
      from ${tableOf('u', applied, {
        monitor_id: ['uuid', ({ monitorId }) => monitorId],
        region: ['text', ({ region }) => region],
        revision: ['int', ({ revision }) => revision],
      })}
      join monitors m on m.id = u.monitor_id and m.revision = u.revision
      join monitor_regions r on r.monitor_id = u.monitor_id and r.region = u.region
      for no key update of m, r skip locked)
    update monitor_regions r set scheduled_revision = free.revision
    from free where r.monitor_id = free.monitor_id and r.region = free.region`);
}

const waveRow = z.object({ region: z.string(), intervalSeconds: z.number(), offsetMs: z.number() });

/** Lists the waves of each region. @param only null for all regions */
export async function listWaves(db: Database, only: string | null = null): Promise<Map<string, Wave[]>> {
  const rows = await query(db, waveRow)`
    select distinct region, interval_seconds, phase_ms as offset_ms from schedule_spans
    where ends_at is null ${only === null ? sql`` : sql`and region = ${only}`}`;
  const waves = new Map<string, Wave[]>();
  for (const { region, ...wave } of rows) {
    const known = waves.get(region);
    if (known) known.push(wave);
    else waves.set(region, [wave]);
  }
  return waves;
}

const waveMember = z.object({ index: z.number(), monitorId: z.string(), revision: z.number() });

export type WaveMember = Readonly<Omit<z.output<typeof waveMember>, 'index'>>;

/** Lists the monitors that each wave checks now (ADR 11). @param unrecordedSlot excludes monitors with a result of this slot (epoch ms) */
export async function listWaveMembers(
  db: Database,
  region: string,
  waves: readonly Wave[],
  unrecordedSlot?: number,
): Promise<WaveMember[][]> {
  const isUnrecorded = sql`not exists (
    select from monitor_regions r
    where r.monitor_id = s.monitor_id and r.region = s.region and r.recent_slots @> array[${unrecordedSlot}::bigint])`;
  const [intervals, offsets] = [
    waves.map((wave) => wave.intervalSeconds),
    waves.map((wave) => wave.offsetMs),
  ];
  // The second `offset 0` makes PostgreSQL scan the index once for each wave. The first one hides the length of the arrays from the
  // planner, so that one plan serves all runs. Planning would take longer than a run.
  const rows = await query(db, waveMember)`${PREPARE}
    select (u.place - 1)::int as index, w.monitor_id, w.revision
    from (select ${arrayOf('int', intervals)} as intervals, ${arrayOf('int', offsets)} as offsets offset 0) as given
    cross join unnest(given.intervals, given.offsets) with ordinality as u (interval_seconds, phase_ms, place)
    cross join lateral (
      select m.id as monitor_id, m.revision from schedule_spans s join monitors m on m.id = s.monitor_id
      where s.region = ${region} and s.interval_seconds = u.interval_seconds and s.phase_ms = u.phase_ms
        and s.ends_at is null ${unrecordedSlot === undefined ? sql`` : sql`and ${isUnrecorded}`}
      offset 0) w`;
  const members = waves.map((): WaveMember[] => []);
  for (const { index, monitorId, revision } of rows) members[index]?.push({ monitorId, revision });
  return members;
}

const failedMember = z.object({
  monitorId: z.string(),
  revision: z.number(),
  retryIntervalSeconds: z.number(),
  failureThreshold: z.number(),
  recoveryThreshold: z.number(),
  consecutiveFailures: z.number(),
  recoveryPasses: z.number().nullable(),
});

/** Lists a wave's monitors whose last result is an unconfirmed failure of this slot (epoch milliseconds). Their retries have not run. */
export async function listRetriedMembers(
  db: Database,
  region: string,
  { intervalSeconds, offsetMs }: Wave,
  slot: number,
): Promise<(CheckPlan & { readonly revision: number })[]> {
  const rows = await query(db, failedMember)`
    select m.id as monitor_id, m.revision, m.retry_interval_seconds, m.failure_threshold, m.recovery_threshold,
      r.consecutive_failures, r.recovery_passes
    from schedule_spans s
    join monitors m on m.id = s.monitor_id
    join monitor_regions r on r.monitor_id = s.monitor_id and r.region = s.region
    where s.region = ${region} and s.interval_seconds = ${intervalSeconds} and s.phase_ms = ${offsetMs}
      and s.ends_at is null and m.retry_interval_seconds is not null
      and r.consecutive_failures > 0 and r.recent_slots[cardinality(r.recent_slots)] = ${slot}`;
  return rows
    .filter((row) => needsRetry(row, row))
    .map(({ monitorId, revision, retryIntervalSeconds }) => ({
      monitorId,
      revision,
      intervalSeconds,
      retryIntervalSeconds,
    }));
}
