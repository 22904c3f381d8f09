import { z } from 'zod';
import { httpUrl, parseTimestamp } from '../fields.ts';
import { LIMITS } from '../limits.ts';
import { CHECK_SOURCES, CHECK_STATUSES, MONITOR_STATUSES } from '../vocabulary.ts';

const timestamp = z.iso.datetime({ precision: 3 });

/** What a region last said of a monitor, as the dashboard API answers it (design §3 "Dashboard API", §4 "Region"). */
export const monitorRegionSchema = z
  .strictObject({
    region: z.string(),
    status: z
      .enum(CHECK_STATUSES)
      .nullable()
      .describe(
        'Of the last check; null, as `lastCheckedAt`, until one counts: since the region was assigned, what is checked was changed, or every region had been silent.',
      ),
    failing: z.boolean().describe("Whether its consecutive failures have reached the monitor's threshold."),
    consecutiveFailures: z.int().min(0),
    lastCheckedAt: timestamp.nullable(),
    hasSay: z
      .boolean()
      .describe("Whether it counts now for the monitor's status: what it said is not stale."),
    certificateExpiresAt: timestamp
      .nullable()
      .describe(
        'The end of the certificate that it last saw; null for http, or where no TLS connection has come about.',
      ),
  })
  .meta({ id: 'MonitorRegion', description: 'What a region last said of a monitor.' });
export type MonitorRegion = z.infer<typeof monitorRegionSchema>;

const milliseconds = z.int().min(0);

/** Phases of one exchange in whole milliseconds; null where a phase did not take place. */
const timingsSchema = z
  .strictObject({
    dns: milliseconds.nullable().describe('Looking up the name.'),
    tcp: milliseconds.nullable().describe('Connecting.'),
    tls: milliseconds.nullable().describe('The TLS handshake.'),
    firstByte: milliseconds.nullable().describe('From the request to the first byte of the answer.'),
    download: milliseconds.nullable().describe('From there to the end of what was read.'),
  })
  .meta({
    id: 'Timings',
    description: 'Phases of one check in whole milliseconds; null where a phase did not take place.',
  });
export type Timings = z.infer<typeof timingsSchema>;

/** `TIMEOUT`, `DNS_ERROR`, `CONNECTION_REFUSED`, `HTTP_<code>` or `UNKNOWN_ERROR`. */
export const errorReasonSchema = z
  .string()
  .regex(/^(TIMEOUT|DNS_ERROR|CONNECTION_REFUSED|UNKNOWN_ERROR|HTTP_[1-9]\d{2})$/)
  .meta({
    id: 'ErrorReason',
    description: '`TIMEOUT`, `DNS_ERROR`, `CONNECTION_REFUSED`, `HTTP_<status code>` or `UNKNOWN_ERROR`.',
  });

/** The recorded result of one check (specification "Monitor event", design §3). */
export const eventSchema = z
  .strictObject({
    id: z.uuid(),
    monitorId: z.uuid(),
    monitorName: z.string().describe('As it is called now.'),
    status: z.enum(CHECK_STATUSES).describe('Whether the check passed.'),
    latency: milliseconds.describe('Whole milliseconds; 0 where no answer began.'),
    statusCode: z.int().nullable().describe('HTTP status of the answer; null without one.'),
    errorReason: errorReasonSchema.nullable().describe('Why the check failed; null where it passed.'),
    errorDetail: z.string().nullable().describe('Says more about `errorReason`, for people.'),
    region: z.string().describe('Code of the region that checked.'),
    timestamp: z.iso
      .datetime({ precision: 3 })
      .describe(
        'When it was recorded: strictly increasing for a monitor. Pass the last one as `since` to tail.',
      ),
    source: z.enum(CHECK_SOURCES).describe('Whether it was planned or triggered.'),
    url: z.string().nullable().describe("Only where a trigger gave a URL in place of the monitor's."),
    timings: timingsSchema,
    runbookUrl: z.string().nullable().describe('Of the monitor, now.'),
  })
  .meta({ id: 'Event', description: 'The recorded result of one check.' });
export type Event = z.infer<typeof eventSchema>;

/** How many rows a list gives: capped, not refused, above the most. */
export const pageLimit = z
  .string({ error: 'must be given once' })
  .regex(/^\d{1,15}$/, { error: 'must be an integer of at least 1' })
  .transform(Number)
  .refine((count) => count >= 1, { error: 'must be an integer of at least 1' })
  .transform((count) => Math.min(count, LIMITS.eventsPerRequest.max))
  .default(LIMITS.eventsPerRequest.default)
  .meta({
    type: 'integer',
    pattern: undefined,
    minimum: 1,
    default: LIMITS.eventsPerRequest.default,
    description: `How many at most. Above ${LIMITS.eventsPerRequest.max} it counts as ${LIMITS.eventsPerRequest.max}.`,
  });

const since = z
  .string({ error: 'must be given once' })
  .transform((text, context) => {
    const date = parseTimestamp(text);
    if (date !== null) return date;
    context.addIssue({
      code: 'custom',
      message:
        'must be an ISO 8601 timestamp with an offset, such as 2026-01-31T12:00:00.000Z (write + as %2B in a query)',
    });
    return z.NEVER;
  })
  .meta({
    format: 'date-time',
    description:
      'Only what was recorded later: an ISO 8601 timestamp with an offset. To tail, pass the `timestamp` of the last event you have.',
  });

/** Query of "list monitor events": `limit` is capped, not refused, above 500; `since` is exclusive (design §3). */
export const eventsQuerySchema = z.object({
  limit: pageLimit,
  since: since.optional(),
});
export type EventsQuery = z.infer<typeof eventsQuerySchema>;

/** Body of "trigger an immediate check": optional, and so is its one field (design §3). */
export const triggerSchema = z
  .strictObject({
    url: httpUrl
      .nullable()
      .default(null)
      .describe(
        "Checked this once in place of the monitor's URL. Needs the scope `write`, and moves no status.",
      ),
  })
  .meta({ id: 'Trigger' });

const { monitors: mostMonitors } = LIMITS.recentChecks;
const rule = `must be 1 to ${mostMonitors} ids of monitors, separated by commas`;

/** Query of "recent checks": an id that is given twice is answered once. */
export const recentChecksQuerySchema = z.object({
  monitorIds: z
    .string({ error: (issue) => (issue.input === undefined ? 'is required' : 'must be given once') })
    .transform((text) => [...new Set(text.toLowerCase().split(','))])
    .pipe(z.array(z.uuid({ error: rule })).max(mostMonitors, { error: rule }))
    .describe(`1 to ${mostMonitors} ids of monitors, separated by commas.`),
});

/** One bar of a monitor's latest checks. */
const recentCheckSchema = z
  .strictObject({
    timestamp: z.iso.datetime({ precision: 3 }),
    status: z.enum(CHECK_STATUSES),
    latency: z.int().min(0).describe('Whole milliseconds; 0 where no answer came.'),
    region: z.string(),
  })
  .meta({ id: 'RecentCheck' });

/** The latest checks of a monitor as the dashboard API answers them for its lists: at most 30 of the last 14 days, oldest first. */
export const recentChecksSchema = z
  .strictObject({ monitorId: z.uuid(), checks: z.array(recentCheckSchema) })
  .meta({ id: 'RecentChecks', description: 'The latest checks of a monitor, oldest first.' });
export type RecentChecks = z.infer<typeof recentChecksSchema>;

/** A monitor's step from one status to another, as the live stream says it (design §3 "Dashboard API"). */
export const statusChangeSchema = z
  .strictObject({
    id: z.uuid(),
    monitorId: z.uuid(),
    monitorName: z.string(),
    previousStatus: z.enum(MONITOR_STATUSES),
    status: z.enum(MONITOR_STATUSES),
    timestamp: z.iso.datetime({ precision: 3 }).describe('When the monitor took its new status.'),
    region: z.string().describe("Of the check that decided it, or the monitor's first where none did."),
    errorReason: errorReasonSchema
      .nullable()
      .describe(
        'Null where the status is not `DOWN`, and where a `DOWN` came back silently after maintenance.',
      ),
  })
  .meta({ id: 'StatusChange', description: "A monitor's step from one status to another." });
export type StatusChange = z.infer<typeof statusChangeSchema>;
