import type { FieldError } from '@tocsin/contracts/errors';
import {
  createMonitorSchema,
  type MonitorInput,
  updateMonitorSchema,
  validateMonitor,
} from '@tocsin/contracts/monitors/monitor';
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
import { invalidFields, parseFields } from '../http/errors.ts';
import { implement } from '../http/implement.ts';
import type { RawBody } from '../http/json-body.ts';
import { hintStatusChanges } from '../queue-hints.ts';
import { listHandler } from './list.ts';
import { metricsHandler } from './metrics.ts';
import { runTrialCheck } from './trial-check.ts';
import { triggerCheck } from './trigger.ts';

export const monitorApi = implement(monitorRoutes, (context) => {
  const { db, settings, schedules } = context;
  const { defaultRegion, regions } = settings;
  return {
    listMonitors: listHandler(context),
    createMonitor: {
      parseBody: (body) => parseCreate(body, regions),
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
    updateMonitor: {
      parseBody: (body) => parseFields(updateMonitorSchema, body, findUnknownRegions(body, regions)),
      handle: async ({ caller, id, body, versions }) => {
        const updated = await updateMonitor(context, caller, id, body, defaultRegion, versions);
        const { monitor, version, statusChange } = updated;
        if (updated.changed) schedules.enqueue(id, updated.regions);
        if (statusChange?.due === true) hintStatusChanges(context, [statusChange.id]);
        return withEtag({ monitor, version });
      },
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
    parseBody: (body) => parseCreate(body, context.settings.regions),
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
function parseCreate(body: RawBody, regions: readonly string[] | null): MonitorInput {
  const { input, errors } = validateMonitor(createMonitorSchema, body);
  errors.push(...findUnknownRegions(body, regions));
  if (input === null || errors.length > 0) throw invalidFields(errors);
  return input;
}

/** Finds well-formed codes that `REGIONS` does not contain. @param allowed null for all codes */
export function findUnknownRegions(body: unknown, allowed: readonly string[] | null): FieldError[] {
  const given = typeof body === 'object' && body !== null && 'regions' in body ? body.regions : undefined;
  if (allowed === null || !Array.isArray(given)) return [];
  return given.flatMap((code: unknown, index) =>
    typeof code !== 'string' || allowed.includes(code)
      ? []
      : [{ path: `regions.${index}`, message: `must be one of ${allowed.join(', ')}` }],
  );
}
