import { slotOffsetMs } from '@tocsin/core/schedule/slots';
import { deleteIsolation, type FinishedIsolation, listMonitorsOfRegion } from '@tocsin/db/regions/isolations';
import type { Logger } from '@tocsin/runtime/logger';
import type { ScheduleStores } from './sync-schedules.ts';

/** Spreads the checks after an isolation, so that they do not form a burst. */
const SPREAD_MS = 20_000;
const CHUNK = 1_000;
/** After this many failed accounts, the rest of a region waits for the next run. */
const MAX_FAILURES = 3;

/**
 * Adds one check for each monitor in accounts whose region is connected again, and then forgets the isolation. After a crash, it adds the
 * same checks again.
 * @param isolations all in one region
 * @throws AggregateError of the failed accounts
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

/** @returns the number of checks */
async function addRechecks({ db, producers }: ScheduleStores, isolation: FinishedIsolation): Promise<number> {
  const { region, finishedAt } = isolation;
  const monitors = await listMonitorsOfRegion(db, isolation);
  const checks = monitors
    // The remaining monitors are checked within this time anyway.
    .filter(({ intervalSeconds }) => intervalSeconds * 1_000 > SPREAD_MS)
    .map(({ monitorId, revision }) => {
      return { monitorId, revision, slot: finishedAt + slotOffsetMs(monitorId, SPREAD_MS) };
    });
  for (let from = 0; from < checks.length; from += CHUNK)
    await producers.addExtraChecks(region, 'recheck', checks.slice(from, from + CHUNK));
  return checks.length;
}
