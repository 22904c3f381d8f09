import { bulkMonitorRoutes } from '@tocsin/contracts/monitors/bulk-routes';
import { slotOffsetMs } from '@tocsin/core/schedule/slots';
import type { Actor } from '@tocsin/db/audit-log/actor';
import { addMonitorsToChannel } from '@tocsin/db/channels/write-channels';
import { listMonitorLatencies } from '@tocsin/db/check-rollups/monitor-latencies';
import { readClock } from '@tocsin/db/database/sql';
import {
  deleteMonitors,
  type EditedMonitors,
  editMonitors,
  listCheckable,
  type MonitorsEdit,
} from '@tocsin/db/monitors/bulk-writes';
import type { ApiContext } from '../context.ts';
import { unavailable } from '../http/errors.ts';
import { implement } from '../http/implement.ts';
import { hintStatusChanges } from '../queue-hints.ts';

/** Up to this many monitors are checked within seconds. */
const FEW_MONITORS = 50;
/** Spreads the checks of one request, so that they do not form a burst. */
const SPREAD_MS = { few: 2_000, many: 20_000 } as const;

export const bulkMonitorApi = implement(bulkMonitorRoutes, (context) => ({
  listMonitorLatencies: async ({ caller }) => ({
    latencies: await listMonitorLatencies(context.db, caller.accountId),
  }),
  editMonitorLabels: async ({ caller, body: { monitorIds, ...change } }) => {
    const { monitors, failures } = await edit(context, caller, monitorIds, { labels: change });
    return { monitors: monitors.map(({ id, labels, updatedAt }) => ({ id, labels, updatedAt })), failures };
  },
  pauseMonitors: async ({ caller, body: { monitorIds, ...change } }) => {
    const { monitors, failures } = await edit(context, caller, monitorIds, change);
    return { monitors: monitors.map(({ id, enabled, updatedAt }) => ({ id, enabled, updatedAt })), failures };
  },
  deleteMonitors: async ({ caller, body }) => {
    const { deletedIds, statusChangeIds } = await deleteMonitors(context.db, caller, body.monitorIds);
    hintStatusChanges(context, statusChangeIds);
    return { deletedIds };
  },
  addMonitorsToChannel: async ({ caller, id, body }) => ({
    added: await addMonitorsToChannel(context.db, caller, id, body.monitorIds),
  }),
  checkMonitors: ({ caller, body }) => addChecks(context, caller.accountId, body.monitorIds),
}));

async function edit(
  context: ApiContext,
  caller: Actor,
  monitorIds: readonly string[],
  change: MonitorsEdit,
): Promise<Omit<EditedMonitors, 'schedules'>> {
  const { defaultRegion } = context.settings;
  const { schedules, ...edited } = await editMonitors(context, caller, monitorIds, change, defaultRegion);
  for (const { monitorId, regions } of schedules) context.schedules.enqueue(monitorId, regions);
  return edited;
}

/** Adds one check for each region of the monitors. A repetition adds the same checks. @throws AppError unavailable if the queue is */
async function addChecks({ db, producers }: ApiContext, accountId: string, monitorIds: readonly string[]) {
  const spreadMs = monitorIds.length <= FEW_MONITORS ? SPREAD_MS.few : SPREAD_MS.many;
  // In the next period, because slots of the current one may have passed.
  const start = (Math.floor((await readClock(db)) / spreadMs) + 1) * spreadMs;
  const found = await listCheckable(db, accountId, monitorIds);
  // The remaining monitors are checked within this time anyway.
  const checkable = found.filter(({ intervalSeconds }) => intervalSeconds * 1_000 > spreadMs);
  const additions = [...new Set(checkable.map(({ region }) => region))].map((region) => {
    const checks = checkable
      .filter((check) => check.region === region)
      .map(({ monitorId, revision }) => {
        return { monitorId, revision, slot: start + slotOffsetMs(monitorId, spreadMs) };
      });
    return producers.addExtraChecks(region, 'recheck', checks);
  });
  const results = await Promise.allSettled(additions);
  if (results.some(({ status }) => status === 'rejected'))
    throw unavailable('Some of these checks could not be scheduled. Try again; the others are not repeated.');
  return {
    monitors: new Set(found.map(({ monitorId }) => monitorId)).size,
    withinSeconds: (2 * spreadMs) / 1_000,
  };
}
