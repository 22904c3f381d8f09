import type { Database } from '@tocsin/db/database/open';
import { findSchedules } from '@tocsin/db/monitor-regions/list-schedules';
import type { RegionSchedule } from '@tocsin/db/monitor-regions/list-schedules';
import { markScheduled } from '@tocsin/db/monitor-regions/mark-scheduled';
import type { Producers } from '@tocsin/queue/producers';
import { RegionSchedules } from '@tocsin/queue/schedules';

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;
/** How often a monitor that changes meanwhile is read again at once; after that the reconciler does. */
const ROUNDS = 3;

export interface ScheduleStores {
  readonly db: Database;
  readonly producers: Producers;
}

/** How many schedules were put into the queue's store, and taken out of it. */
export interface SyncResult {
  readonly applied: number;
  readonly removed: number;
}

/**
 * Makes the schedules of these monitors in one region what Postgres says now: applied and noted as such where the region
 * checks the monitor, removed where it does not. Safe to run twice, late, and by several processes at once: Postgres
 * is read before and again after the store was written, so whoever writes last writes what is true.
 */
export async function syncSchedules(
  stores: ScheduleStores,
  region: string,
  monitorIds: readonly string[],
): Promise<SyncResult> {
  const schedules = new RegionSchedules(stores.producers, region);
  // Only monitors of ours can be asked for.
  const foreign = monitorIds.filter((id) => !UUID.test(id));
  await schedules.remove(foreign);
  const ours = monitorIds.filter((id) => UUID.test(id));
  const result = { applied: 0, removed: foreign.length };
  let before = await readSchedules(stores.db, region, ours);
  let open = ours;
  for (let round = 0; round < ROUNDS && open.length > 0; round += 1) {
    const wanted = [...before.values()];
    const unwanted = open.filter((id) => !before.has(id));
    await schedules.apply(wanted);
    await schedules.remove(unwanted);
    await addFirstChecks(stores.producers, wanted);
    await markScheduled(stores.db, wanted);
    result.applied += wanted.length;
    result.removed += unwanted.length;
    const after = await readSchedules(stores.db, region, open);
    const settled = before;
    open = open.filter((id) => after.get(id)?.revision !== settled.get(id)?.revision);
    before = new Map([...after].filter(([id]) => open.includes(id)));
  }
  return result;
}

async function readSchedules(
  db: Database,
  region: string,
  monitorIds: readonly string[],
): Promise<Map<string, RegionSchedule>> {
  if (monitorIds.length === 0) return new Map();
  const schedules = await findSchedules(db, region, monitorIds);
  return new Map(schedules.map((schedule) => [schedule.monitorId, schedule]));
}

/** A monitor without any result is checked at once, not only when its phase comes (design §4 "Schedules"). */
async function addFirstChecks(producers: Producers, schedules: readonly RegionSchedule[]): Promise<void> {
  await Promise.all(
    schedules.map(async ({ monitorId, region, revision, firstSlot }) => {
      if (firstSlot !== null) await producers.addFirstCheck(region, { monitorId, revision }, firstSlot);
    }),
  );
}
