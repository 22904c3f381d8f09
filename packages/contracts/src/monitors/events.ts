import { z } from 'zod';
import { component, httpUrl, instant, pageLimit, timestamp } from '../fields.ts';
import { LIMITS } from '../limits.ts';
import { CHECK_SOURCES, CHECK_STATUSES, MONITOR_STATUSES } from '../vocabulary.ts';

export const monitorRegionSchema = component('MonitorRegion', 'The latest result of a monitor in a region.', {
  region: z.string(),
  status: z
    .enum(CHECK_STATUSES)
    .nullable()
    .describe(
      'Result of the last check that counts. Null, like `lastCheckedAt`, if there is none since the region was assigned, the check was changed, or all regions stopped reporting.',
    ),
  failing: z.boolean().describe("Whether its consecutive failures have reached the monitor's threshold."),
  consecutiveFailures: z.int().min(0),
  lastCheckedAt: timestamp.nullable(),
  eligible: z
    .boolean()
    .describe("Whether the region currently counts for the monitor's status: its last check is not stale."),
  certificateExpiresAt: timestamp
    .nullable()
    .describe(
      'When the first certificate of the last check expires, of any redirect and any part of the chain except its root. Null for http, or if no TLS connection succeeded.',
    ),
});
export type MonitorRegion = z.infer<typeof monitorRegionSchema>;

const milliseconds = z.int().min(0);

const timingsSchema = component(
  'Timings',
  'Phases of a check in whole milliseconds; null for a phase that did not take place.',
  {
    dns: milliseconds.nullable().describe('DNS lookup.'),
    tcp: milliseconds.nullable().describe('TCP connection.'),
    tls: milliseconds.nullable().describe('TLS handshake.'),
    firstByte: milliseconds.nullable().describe('From the request to the first byte of the response.'),
    download: milliseconds.nullable().describe('From the first to the last byte read.'),
  },
);
export type Timings = z.infer<typeof timingsSchema>;

/** `TIMEOUT`, `DNS_ERROR`, `CONNECTION_REFUSED`, `HTTP_<code>` or `UNKNOWN_ERROR`. */
export const errorReasonSchema = z
  .string()
  .regex(/^(TIMEOUT|DNS_ERROR|CONNECTION_REFUSED|UNKNOWN_ERROR|HTTP_[1-9]\d{2})$/)
  .meta({
    id: 'ErrorReason',
    description: '`TIMEOUT`, `DNS_ERROR`, `CONNECTION_REFUSED`, `HTTP_<status code>` or `UNKNOWN_ERROR`.',
  });

export const eventSchema = component('Event', 'The recorded result of one check.', {
  id: z.uuid(),
  monitorId: z.uuid(),
  monitorName: z.string().describe('The current name.'),
  status: z.enum(CHECK_STATUSES).describe('Whether the check passed.'),
  latency: milliseconds.describe(
    'Whole milliseconds; 0 without a response, except for a `TIMEOUT` after connecting.',
  ),
  statusCode: z.int().nullable().describe('HTTP status code; null without a response.'),
  errorReason: errorReasonSchema.nullable().describe('Why the check failed; null if it passed.'),
  errorDetail: z.string().nullable().describe('Details of `errorReason`, for people.'),
  inconclusive: z
    .boolean()
    .describe(
      "Whether the check failed because of its checker, or while its region may have had no network. It then does not affect the monitor's status or statistics.",
    ),
  hasResponse: z
    .boolean()
    .describe(
      'Whether the response was kept: the first failed check of a region keeps it, at most one a minute for each monitor and region.',
    ),
  region: z.string().describe('Code of the region.'),
  timestamp: timestamp.describe(
    'When it was recorded, strictly increasing for a monitor. Pass the last one as `since` to tail.',
  ),
  source: z.enum(CHECK_SOURCES).describe('Whether the check was scheduled or triggered.'),
  url: z.string().nullable().describe("The URL of a trigger that replaced the monitor's; null otherwise."),
  timings: timingsSchema,
  runbookUrl: z.string().nullable().describe('Current runbook URL of the monitor.'),
});
export type Event = z.infer<typeof eventSchema>;

export const eventResponseSchema = component(
  'EventResponse',
  "What the target sent to a failed check. Credentials, and what equals a secret of the monitor's request, are `[hidden]`.",
  {
    statusCode: z.int(),
    headers: z
      .record(z.string(), z.string())
      .describe('Names in lower case. At most 50 headers and 8 KiB; values that exceed this are left out.'),
    body: z
      .string()
      .nullable()
      .describe(
        'Its first 4 KiB as text. Null if the check did not read it. `(unreadable)` if no key of the server decrypts the response.',
      ),
  },
);
export type EventResponse = z.infer<typeof eventResponseSchema>;
/** Kept part of a failed response, without the status code. */
export type FailedResponse = Omit<EventResponse, 'statusCode'>;

const TIMESTAMP_RULE = 'must be an ISO 8601 timestamp with an offset, such as 2026-01-31T12:00:00.000Z';

export const eventPathSchema = z.object({
  timestamp: z
    .string()
    .pipe(instant(TIMESTAMP_RULE))
    .meta({ format: 'date-time', description: 'The `timestamp` of the event.' }),
});

export const eventsQuerySchema = z.object({
  limit: pageLimit,
  since: z
    .string({ error: 'must be given only once' })
    .pipe(instant(`${TIMESTAMP_RULE} (write + as %2B in a query)`))
    .meta({
      format: 'date-time',
      description:
        'Only events recorded later: an ISO 8601 timestamp with an offset. To tail, pass the `timestamp` of your last event.',
    })
    .optional(),
});

export const accountEventsQuerySchema = z.object({
  limit: pageLimit,
  since: z
    .string({ error: 'must be given only once' })
    .optional()
    .describe('The `cursor` of an earlier response. Without it, the tail begins now.'),
});

export const triggerSchema = component('Trigger', {
  url: httpUrl
    .nullable()
    .default(null)
    .describe(
      "Checked once instead of the monitor's URL. Requires the scope `write`. The status does not change.",
    ),
});

const { monitors: maxMonitors } = LIMITS.recentChecks;
const rule = `must be 1 to ${maxMonitors} monitor ids, separated by commas`;

/** Duplicate IDs count once. */
export const recentChecksQuerySchema = z.object({
  monitorIds: z
    .string({ error: (issue) => (issue.input === undefined ? 'is required' : 'must be given only once') })
    .transform((text) => [...new Set(text.toLowerCase().split(','))])
    .pipe(z.array(z.uuid({ error: rule })).max(maxMonitors, { error: rule }))
    .describe(`1 to ${maxMonitors} monitor ids, separated by commas.`),
});

const recentCheckSchema = component('RecentCheck', {
  timestamp,
  status: z.enum(CHECK_STATUSES),
  inconclusive: z.boolean(),
  latency: eventSchema.shape.latency,
  region: z.string(),
});

export const recentChecksSchema = component('RecentChecks', 'The latest checks of a monitor, oldest first.', {
  monitorId: z.uuid(),
  checks: z.array(recentCheckSchema),
});
export type RecentChecks = z.infer<typeof recentChecksSchema>;

export const statusChangeSchema = component('StatusChange', 'A change of the status of a monitor.', {
  id: z.uuid(),
  monitorId: z.uuid(),
  monitorName: z.string(),
  previousStatus: z.enum(MONITOR_STATUSES),
  status: z.enum(MONITOR_STATUSES),
  timestamp: timestamp.describe('When the monitor changed to the new status.'),
  region: z
    .string()
    .describe("Region of the check that caused the change, otherwise the monitor's first region."),
  errorReason: errorReasonSchema
    .nullable()
    .describe('Null if the status is not `DOWN`, or if `DOWN` returned silently after maintenance.'),
  errorDetail: z.string().nullable().describe('Details of `errorReason`, for people.'),
});
export type StatusChange = z.infer<typeof statusChangeSchema>;
