import { createMonitorSchema, type MonitorInput, validateMonitor } from '@tocsin/contracts/monitors/monitor';
import { monitorErrors } from '@tocsin/core/checks/monitor-errors';
import { monitorLookupRoutes, monitorRoutes, monitorViewRoutes } from '@tocsin/contracts/monitors/routes';
import { getMonitorStats } from '@tocsin/db/check-rollups/monitor-stats';
import { getEventResponse, listEvents, listRecentChecks } from '@tocsin/db/events/read-events';
import { tailAccount } from '@tocsin/db/events/tail-account';
import { listMonitorRegions } from '@tocsin/db/monitor-regions/read-regions';
import { createMonitor } from '@tocsin/db/monitors/create-monitors';
import { deleteMonitor } from '@tocsin/db/monitors/delete-monitors';
import { getMonitor, getMonitorByExternalId } from '@tocsin/db/monitors/read-monitors';
import { readOverview } from '@tocsin/db/monitors/read-overview';
import { updateMonitor } from '@tocsin/db/monitors/update-monitors';
import { getMonitorStates } from '@tocsin/db/status-changes/read-states';
import { created, withEtag } from '../http/headers.ts';
import { invalidFields } from '../http/errors.ts';
import { implement } from '../http/implement.ts';
import type { RawBody } from '../http/json-body.ts';
import { hintStatusChanges } from '../queue-hints.ts';
import { listHandler } from './list.ts';
import { metricsHandler } from './metrics.ts';
import { runTrialCheck } from './trial-check.ts';
import { triggerCheck } from './trigger.ts';

export const monitorApi = implement(monitorRoutes, (context) => {
  const { db, settings, schedules } = context;
  const { defaultRegion } = settings;
  return {
    listMonitors: listHandler(context),
    createMonitor: {
      parseBody: parseCreate,
      handle: async ({ caller, headers, body, location }) => {
        const key = headers['Idempotency-Key'];
        const result = await createMonitor(context, caller, body, defaultRegion, key);
        const { monitor, version, regions } = result;
        if (regions !== null) schedules.enqueue(monitor.id, regions);
        return created({ monitor }, location(monitor.id), version, regions === null);
      },
    },
    getMonitor: async ({ caller, id }) => withEtag(await getMonitor(context, caller, id)),
    getMonitorByExternalId: async ({ caller, path }) =>
      withEtag(await getMonitorByExternalId(context, caller, path.externalId)),
    updateMonitor: async ({ caller, id, body, versions }) => {
      const updated = await updateMonitor(context, caller, id, body, defaultRegion, versions);
      const { monitor, version, statusChange } = updated;
      if (updated.changed) schedules.enqueue(id, updated.regions);
      if (statusChange?.due === true) hintStatusChanges(context, [statusChange.id]);
      return withEtag({ monitor, version });
    },
    deleteMonitor: async ({ caller, id, versions }) =>
      hintStatusChanges(context, await deleteMonitor(db, caller, id, versions)),
    triggerMonitor: (request) => triggerCheck(context, request),
    listMonitorEvents: async ({ caller, id, query }) => ({
      events: await listEvents(db, caller.accountId, id, query),
    }),
    getEventResponse: async ({ caller, id, path }) => ({
      response: await getEventResponse(context, caller.accountId, id, path.timestamp),
    }),
  };
});

export const monitorLookupApi = implement(monitorLookupRoutes, (context) => ({
  tailEvents: ({ caller, query, res }) =>
    tailAccount(context.db, caller.accountId, { ...query, isWanted: () => !res.destroyed }),
  getMonitorMetrics: metricsHandler(context),
}));

export const monitorViewApi = implement(monitorViewRoutes, (context) => ({
  runTrialCheck: {
    parseBody: parseCreate,
    handle: (request) => runTrialCheck(context, request),
  },
  getOverview: ({ caller }) => readOverview(context.db, caller.accountId),
  listRecentChecks: async ({ caller, query }) => ({
    recentChecks: await listRecentChecks(context.db, caller.accountId, query.monitorIds),
  }),
  listMonitorRegions: async ({ caller, id }) => ({
    regions: await listMonitorRegions(context.db, caller.accountId, id),
  }),
  getMonitorStats: async ({ caller, id, query }) => ({
    stats: await getMonitorStats(context.db, caller.accountId, id, {
      query,
      retentionDays: context.settings.retentionDays,
    }),
  }),
  getMonitorStates: async ({ caller, id, query }) => ({
    states: await getMonitorStates(context.db, caller.accountId, id, {
      query,
      retentionDays: context.settings.retentionDays,
    }),
  }),
}));

/** @throws AppError validation_failed, with all invalid fields */
function parseCreate(body: RawBody): MonitorInput {
  const { input, errors } = validateMonitor(createMonitorSchema, body, monitorErrors);
  if (input === null || errors.length > 0) throw invalidFields(errors);
  return input;
}
