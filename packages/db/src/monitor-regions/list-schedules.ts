import { sql } from 'drizzle-orm';
import { arrayOf } from '../database/arrays.ts';
import type { Database } from '../database/open.ts';

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
