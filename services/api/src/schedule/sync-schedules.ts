import { type Wave, waveId, waveOf } from '@tocsin/core/schedule/slots';
import type { Database } from '@tocsin/db/database/open';
import { findSchedules, markScheduled, type RegionSchedule } from '@tocsin/db/monitor-regions/schedules';
import type { Producers } from '@tocsin/queue/producers';
import { RegionSchedules } from '@tocsin/queue/schedules';
import { continueTrace, currentTraceparent, withSpan } from '@tocsin/runtime/tracing';
import type { ScheduleApplierOptions } from './schedule-applier.ts';

/** Monitors that keep changing are read again this many times. After that, they are left to the reconciler. */
const ROUNDS = 3;

export interface ScheduleStores {
  readonly db: Database;
  readonly producers: Producers;
}

/**
 * Adds the missing waves and first checks of these monitors in one region, and records both. Safe to run twice, late, and concurrently,
 * because it reads Postgres again afterwards.
 * @param traceparents by monitor
 * @returns the number of added waves
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
  const running = schedules.filter(({ enabled }) => enabled);
  const waves = running.map(({ monitorId, intervalSeconds }) => waveOf(monitorId, intervalSeconds));
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

/** A monitor without a result is checked at once. */
async function addFirstChecks(
  producers: Producers,
  schedules: readonly RegionSchedule[],
  traceparents: ReadonlyMap<string, string | undefined> = new Map(),
): Promise<void> {
  await Promise.all(
    schedules.map(async ({ monitorId, region, revision, firstSlot }) => {
      if (firstSlot === null) return;
      await continueTrace(traceparents.get(monitorId), () =>
        producers.addFirstCheck(region, { monitorId, revision }, firstSlot),
      );
    }),
  );
}

const MAX_LINKS = 128;

/** Applies schedules in the trace of the first traced request, with links to the others. */
export function traceSync(stores: ScheduleStores): ScheduleApplierOptions['sync'] {
  return (region, changed) => {
    const requests = new Set([...changed.values()].filter((traceparent) => traceparent !== undefined));
    const [parent, ...others] = requests;
    const monitorIds = [...changed.keys()];
    // A batch runs in the context of the request that started it, which may have another trace.
    if (parent === undefined) return continueTrace(null, () => syncSchedules(stores, region, monitorIds));
    const links = others.slice(0, MAX_LINKS);
    const attributes = { 'tocsin.region': region, 'tocsin.monitors': changed.size };
    return withSpan('schedule', { parent, links, attributes }, () => {
      // First checks of the first request are children of this span.
      const own = currentTraceparent();
      const traceparents = new Map(
        [...changed].map(([id, traceparent]) => [id, traceparent === parent ? own : traceparent]),
      );
      return syncSchedules(stores, region, monitorIds, traceparents);
    });
  };
}
