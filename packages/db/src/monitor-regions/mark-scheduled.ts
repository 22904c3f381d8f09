import { sql } from 'drizzle-orm';
import { columnOf } from '../database/arrays.ts';
import type { Queryable } from '../database/open.ts';

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
