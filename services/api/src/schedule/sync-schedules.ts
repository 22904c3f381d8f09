import { waveId, waveOf, type Wave } from '@tocsin/core/schedule/wave';
import type { Database } from '@tocsin/db/database/open';
import { findSchedules } from '@tocsin/db/monitor-regions/list-schedules';
import type { RegionSchedule } from '@tocsin/db/monitor-regions/list-schedules';
import { markScheduled } from '@tocsin/db/monitor-regions/mark-scheduled';
import type { Producers } from '@tocsin/queue/producers';
import { RegionSchedules } from '@tocsin/queue/schedules';

/** How often a monitor that changes meanwhile is read again at once; after that the reconciler does. */
const ROUNDS = 3;

export interface ScheduleStores {
  readonly db: Database;
  readonly producers: Producers;
}

/**
 * Makes sure that these monitors are checked in one region as Postgres says now: their waves are in the store, those that are
 * new get their first check, and that is noted. Where the region does not check a monitor there is nothing to do: its wave
 * goes on without it. Safe to run twice, late, and by several processes at once: Postgres is read again after the store was
 * written.
 * @param traceparents for the traces of first checks, by monitor
 * @returns how many waves were put in
 */
export async function syncSchedules(
  stores: ScheduleStores,
  region: string,
  monitorIds: readonly string[],
  traceparents?: ReadonlyMap<string, string | undefined>,
): Promise<number> {
  const schedules = new RegionSchedules(stores.producers, region);
  let applied = 0;
  let before = await readSchedules(stores.db, region, monitorIds);
  for (let round = 0; round < ROUNDS && before.size > 0; round += 1) {
    const wanted = [...before.values()];
    applied += await schedules.ensure(wavesOf(wanted));
    await addFirstChecks(stores.producers, wanted, traceparents);
    await markScheduled(stores.db, wanted);
    const after = await readSchedules(stores.db, region, [...before.keys()]);
    const settled = before;
    before = new Map([...after].filter(([id, { revision }]) => settled.get(id)?.revision !== revision));
  }
  return applied;
}

function wavesOf(schedules: readonly RegionSchedule[]): Wave[] {
  const waves = schedules.map(({ monitorId, intervalSeconds }) => waveOf(monitorId, intervalSeconds));
  return [...new Map(waves.map((wave) => [waveId(wave), wave])).values()];
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
async function addFirstChecks(
  producers: Producers,
  schedules: readonly RegionSchedule[],
  traceparents: ReadonlyMap<string, string | undefined> = new Map(),
): Promise<void> {
  await Promise.all(
    schedules.map(async ({ monitorId, region, revision, firstSlot }) => {
      if (firstSlot === null) return;
      await producers.addFirstCheck(region, { monitorId, revision }, firstSlot, traceparents.get(monitorId));
    }),
  );
}
