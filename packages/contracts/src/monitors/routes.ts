import { z } from 'zod';
import { LIMITS } from '../limits.ts';
import { EVENT, INCIDENT, MONITOR, MONITOR_OVERVIEW } from '../routes/examples.ts';
import {
  CREATE,
  defineRoutes,
  DELETE,
  READ,
  READ_BY_EXTERNAL_ID,
  UPDATE,
  withDashboard,
} from '../routes/route.ts';
import {
  accountEventsQuerySchema,
  eventPathSchema,
  eventResponseSchema,
  eventSchema,
  eventsQuerySchema,
  monitorRegionSchema,
  recentChecksQuerySchema,
  recentChecksSchema,
  triggerSchema,
} from './events.ts';
import { trialCheckQuerySchema, trialCheckSchema } from './trial-check.ts';
import { metricsQuerySchema } from './metrics.ts';
import {
  createMonitorSchema,
  listedMonitorSchema,
  monitorSchema,
  monitorsQuerySchema,
  updateMonitorSchema,
} from './monitor.ts';
import { overviewSchema } from './overview.ts';
import { monitorStatesSchema, monitorStatsSchema, periodQuerySchema } from './stats.ts';

const resource = 'monitor';
const response = z.strictObject({ monitor: monitorSchema });
const responseExample = { monitor: MONITOR };

const forPrograms = { tag: 'Monitors', access: 'key' } as const;
const forUsers = { tag: 'Monitors in the dashboard', access: 'member' } as const;

const sharedRoutes = defineRoutes(forPrograms, {
  listMonitors: {
    endpoint: 'GET /api/cli/monitors',
    summary: 'List monitors',
    description:
      'Every monitor that the account has when the request begins, newest first, each as it is when it is sent. Monitors that are deleted meanwhile may be missing. If the connection breaks before the end, the list is incomplete.',
    ...READ,
    query: monitorsQuerySchema,
    response: z.strictObject({ monitors: z.array(listedMonitorSchema) }),
    responseExample: { monitors: [{ ...MONITOR, etag: '"1-mhx2a3k0"' }] },
    isStreamed: true,
  },
  createMonitor: {
    ...CREATE,
    endpoint: 'POST /api/cli/monitors',
    summary: 'Create a monitor',
    description: 'The monitor is checked at once and is `PENDING` until the check completes.',
    body: createMonitorSchema,
    bodyExample: {
      name: 'Shop',
      url: 'https://shop.example/health',
      interval: 60,
      assertions: { statusCode: 200, bodyContains: '"ok"' },
      failureThreshold: 2,
      regions: ['eu-west-1', 'us-east-1'],
      runbookUrl: 'https://runbooks.example/shop',
      externalId: 'shop',
    },
    response,
    responseExample: { monitor: { ...MONITOR, status: 'PENDING', lastCheckedAt: null } },
  },
  getMonitor: {
    ...READ,
    endpoint: 'GET /api/cli/monitors/:id',
    summary: 'Get a monitor',
    description: `Includes its ${LIMITS.recentEvents} latest events, newest first. The \`ETag\` covers the fields that you can write: it does not change with checks.`,
    resource,
    response: z.strictObject({
      monitor: monitorSchema,
      events: z.array(eventSchema).max(LIMITS.recentEvents),
    }),
    responseExample: { monitor: MONITOR, events: [EVENT] },
    isUncompressed: true,
  },
  getMonitorByExternalId: {
    ...READ_BY_EXTERNAL_ID,
    endpoint: 'GET /api/cli/monitors/by-external-id/:externalId',
    summary: 'Get a monitor by its externalId',
    description: 'Without events.',
    response,
    responseExample,
  },
  updateMonitor: {
    ...UPDATE,
    endpoint: 'PUT /api/cli/monitors/:id',
    summary: 'Update a monitor',
    description:
      'Changes only the fields given. A new URL, method, body, timeout, set of headers or assertions resets the failure counts.',
    resource,
    body: updateMonitorSchema,
    bodyExample: { interval: 30, assertions: { statusCode: 200, maxLatency: 800 } },
    response,
    responseExample,
  },
  deleteMonitor: {
    ...DELETE,
    endpoint: 'DELETE /api/cli/monitors/:id',
    summary: 'Delete a monitor',
    description: 'Deletes its events and incidents too. Webhooks that are due are still sent.',
    resource,
  },
  triggerMonitor: {
    endpoint: 'POST /api/cli/monitors/:id/trigger',
    tag: 'Checks',
    summary: 'Trigger a check',
    description:
      'Waits for the result, which is recorded as an event. With a `url`, that URL is checked instead, and the status does not change; an API key needs the scope `write` for it. Returns 409 if no key of the server decrypts the headers or body of the monitor, and 504 if no checker of its first region responds in time.',
    requiresWriteScope: ({ url = null }) => url !== null,
    resource,
    body: triggerSchema,
    bodyExample: { url: 'https://preview-42.shop.example/health' },
    response: z.strictObject({ event: eventSchema }),
    responseExample: {
      event: { ...EVENT, source: 'trigger', url: 'https://preview-42.shop.example/health' },
    },
    errors: ['not_triggerable', 'check_not_answered', 'conflict'],
  },
  listMonitorEvents: {
    endpoint: 'GET /api/cli/monitors/:id/events',
    tag: 'Checks',
    summary: 'List events of a monitor',
    description:
      'In chronological order. With `since`: the first `limit` events after it; without it: the latest. To tail, pass the `timestamp` of your last event: no event is missed or repeated.',
    resource,
    query: eventsQuerySchema,
    response: z.strictObject({ events: z.array(eventSchema).max(LIMITS.eventsPerRequest.max) }),
    responseExample: { events: [EVENT] },
  },
  getEventResponse: {
    endpoint: 'GET /api/cli/monitors/:id/events/:timestamp/response',
    tag: 'Checks',
    summary: 'Get the response to a failed check',
    description:
      'What the target sent, if `hasResponse` of the event is true; otherwise 404. It is kept as long as the event. An API key needs the scope `write`, because the response may contain credentials.',
    access: 'write key',
    resource,
    path: eventPathSchema,
    response: z.strictObject({ response: eventResponseSchema }),
    responseExample: {
      response: {
        statusCode: 503,
        headers: { 'content-type': 'text/plain', 'retry-after': '30', 'set-cookie': '[hidden]' },
        body: 'upstream connect error or disconnect/reset before headers',
      },
    },
    isHiddenFromViewers: true,
    isUncompressed: true,
  },
});

/** The monitors API for programs, and the same routes for signed-in users. */
export const monitorRoutes = withDashboard(sharedRoutes, forUsers.tag);

/** Routes of monitors for programs only. */
export const monitorLookupRoutes = defineRoutes(forPrograms, {
  tailEvents: {
    endpoint: 'GET /api/cli/events',
    tag: 'Checks',
    summary: 'Tail the events of all monitors',
    description:
      'The events after a cursor, ordered by timestamp, then monitor. Without `since`: no events, only the current cursor. To tail, pass the `cursor` of each response as the `since` of the next request: no event is missed or repeated. If the response has `limit` events, there may be more: request the next page at once; otherwise wait about a second.',
    query: accountEventsQuerySchema,
    response: z.strictObject({
      events: z.array(eventSchema).max(LIMITS.eventsPerRequest.max),
      cursor: z.string().describe('Where the next page begins. Opaque to clients.'),
    }),
    responseExample: { events: [EVENT], cursor: 'MTc5NTE3NTk4NDEyMyA' },
  },
  getMonitorMetrics: {
    endpoint: 'GET /api/cli/metrics',
    tag: 'Monitors',
    summary: 'Get metrics of all monitors',
    description:
      'For Prometheus, in its text format. Every server of the service returns the same metrics. The counters survive restarts, retention and changes of the monitor; those of a region that is removed and added again start at 0.',
    query: metricsQuerySchema,
    response: 'text/plain',
    isStreamed: true,
    responseExample: `# HELP tocsin_monitor_status Whether the monitor has this status: 1 or 0.
# TYPE tocsin_monitor_status gauge
tocsin_monitor_status{monitor_id="${MONITOR.id}",name="${MONITOR.name}",external_id="${MONITOR.externalId}",source="${MONITOR.source}",status="UP"} 1
`,
  },
});

const NO_OUTAGE = { count: 1, downSeconds: 0, incidentId: null, cause: null, errorDetail: null } as const;

/** Routes of monitors for the dashboard only. */
export const monitorViewRoutes = defineRoutes(forUsers, {
  getOverview: {
    endpoint: 'GET /api/dashboard/overview',
    summary: 'Get what lists show of all monitors',
    description: 'Newest first, in one response. The live stream continues from its `position`.',
    response: overviewSchema,
    responseExample: { position: '2026-11-20T12:00:01.000Z', monitors: [MONITOR_OVERVIEW] },
  },
  listRecentChecks: {
    endpoint: 'GET /api/dashboard/monitors/recent-checks',
    summary: 'List recent checks of several monitors',
    description: `In the order of the ids: at most ${LIMITS.recentChecks.checks} checks of the last ${LIMITS.recentChecks.days} days for each. Checks of another URL and ids of unknown monitors are left out.`,
    query: recentChecksQuerySchema,
    response: z.strictObject({ recentChecks: z.array(recentChecksSchema) }),
    responseExample: {
      recentChecks: [
        {
          monitorId: MONITOR.id,
          checks: [
            {
              timestamp: '2026-11-20T12:00:00.123Z',
              status: 'UP',
              inconclusive: false,
              latency: 31,
              region: 'eu-west-1',
            },
          ],
        },
      ],
    },
  },
  runTrialCheck: {
    endpoint: 'POST /api/dashboard/monitors/test',
    summary: 'Test a monitor before it is saved',
    description:
      'Checks once with these settings and waits for the result. Saves and records nothing, and alerts nobody. Counts as a triggered check in progress. Returns 504 if no checker of the region responds in time.',
    query: trialCheckQuerySchema,
    body: createMonitorSchema,
    bodyExample: {
      name: 'Shop',
      url: 'https://shop.example/health',
      assertions: { bodyContains: '"ok"' },
    },
    response: z.strictObject({ test: trialCheckSchema }),
    responseExample: {
      test: {
        status: 'DOWN',
        region: 'eu-west-1',
        latency: 31,
        statusCode: 200,
        errorReason: 'UNKNOWN_ERROR',
        errorDetail: 'the body does not contain the expected text',
        inconclusive: false,
        timings: EVENT.timings,
        assertions: [
          { assertion: 'statusCode', passed: true, detail: 'status 200' },
          { assertion: 'bodyContains', passed: false, detail: 'body does not contain “"ok"”' },
        ],
        response: {
          statusCode: 200,
          headers: { 'content-type': 'application/json' },
          body: '{"status":"degraded"}',
        },
      },
    },
    errors: ['check_not_answered'],
    isUncompressed: true,
  },
  listMonitorRegions: {
    endpoint: 'GET /api/dashboard/monitors/:id/regions',
    summary: 'List the latest result of each region of a monitor',
    resource,
    response: z.strictObject({ regions: z.array(monitorRegionSchema) }),
    responseExample: {
      regions: [
        {
          region: 'eu-west-1',
          status: 'UP',
          failing: false,
          consecutiveFailures: 0,
          lastCheckedAt: '2026-11-20T12:00:00.123Z',
          eligible: true,
          certificateExpiresAt: '2027-02-01T00:00:00.000Z',
        },
      ],
    },
  },
  getMonitorStats: {
    endpoint: 'GET /api/dashboard/monitors/:id/stats',
    summary: 'Get statistics of a monitor',
    description: 'Uptime in total; checks, gaps, latency and timings in total, by region, and over time.',
    resource,
    query: periodQuerySchema,
    response: z.strictObject({ stats: monitorStatsSchema }),
  },
  getMonitorStates: {
    endpoint: 'GET /api/dashboard/monitors/:id/states',
    summary: 'Get the statuses of a monitor over a period',
    description: 'When the monitor had which status, from its status changes and incidents.',
    resource,
    query: periodQuerySchema,
    response: z.strictObject({ states: monitorStatesSchema }),
    responseExample: {
      states: {
        from: '2026-11-20T11:00:00.000Z',
        to: '2026-11-20T12:00:00.000Z',
        downSeconds: 90,
        knownSeconds: 3_600,
        incidents: 1,
        periods: [
          {
            ...NO_OUTAGE,
            status: 'UP',
            from: '2026-11-20T11:00:00.000Z',
            to: '2026-11-20T11:20:00.000Z',
          },
          {
            status: 'DOWN',
            from: '2026-11-20T11:20:00.000Z',
            to: '2026-11-20T11:21:30.000Z',
            count: 1,
            downSeconds: 90,
            incidentId: INCIDENT.id,
            cause: INCIDENT.cause,
            errorDetail: INCIDENT.errorDetail,
          },
          {
            ...NO_OUTAGE,
            status: 'UP',
            from: '2026-11-20T11:21:30.000Z',
            to: '2026-11-20T12:00:00.000Z',
          },
        ],
      },
    },
  },
});
