import { phaseMs } from '@tocsin/core/schedule/slots';
import { deleteIsolation, type FinishedIsolation, listMonitorsOfRegion } from '@tocsin/db/regions/isolations';
import type { Logger } from '@tocsin/runtime/logger';
import type { ScheduleStores } from './sync-schedules.ts';

/** Checks that follow an isolation are spread over this time, so that they are no burst. */
const SPREAD_MS = 20_000;
/** Jobs of one request to the queue's store. */
const CHUNK = 1_000;
/** After so many accounts whose checks could not be added, the rest of a region waits for the next run. */
const MAX_FAILURES = 3;

/**
 * Adds one check for each monitor of the accounts whose region is no longer isolated, and then forgets the isolation: after a crash, the
 * same checks are added again, with the same slots. An account that always fails does not keep the others from their checks.
 * @param isolations of one region
 * @throws AggregateError of the accounts that failed
 */
export async function recheckMonitors(
  stores: ScheduleStores,
  isolations: readonly FinishedIsolation[],
  logger: Logger,
): Promise<void> {
  const first = Math.floor(Math.random() * isolations.length);
  const failures: unknown[] = [];
  for (const isolation of [...isolations.slice(first), ...isolations.slice(0, first)]) {
    try {
      const added = await addRechecks(stores, isolation);
      await deleteIsolation(stores.db, isolation);
      const { accountId, region } = isolation;
      logger.info('A region is connected again', { region, accountId, checks: added });
    } catch (error) {
      failures.push(error);
      if (failures.length >= MAX_FAILURES) break;
    }
  }
  if (failures.length > 0) throw new AggregateError(failures, 'Checks after an isolation were not added');
}

/** @returns how many checks were added */
async function addRechecks({ db, producers }: ScheduleStores, isolation: FinishedIsolation): Promise<number> {
  const { region, finishedAt } = isolation;
  const monitors = await listMonitorsOfRegion(db, isolation);
  const checks = monitors
    // The others are checked within this time anyway.
    .filter(({ intervalSeconds }) => intervalSeconds * 1_000 > SPREAD_MS)
    .map(({ monitorId, revision }) => {
      return { monitorId, revision, slot: finishedAt + phaseMs(monitorId, SPREAD_MS) };
    });
  for (let from = 0; from < checks.length; from += CHUNK) {
    await producers.addExtraChecks(region, 'recheck', checks.slice(from, from + CHUNK));
  }
  return checks.length;
}
