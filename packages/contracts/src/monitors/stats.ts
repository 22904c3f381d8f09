import { z } from 'zod';
import { component, instant, timestamp } from '../fields.ts';
import { MONITOR_STATUSES } from '../vocabulary.ts';
import { errorReasonSchema, monitorRegionSchema } from './events.ts';

/** Buckets of a window. The last one is in progress, and all start at multiples of their length in UTC. */
export const STATS_WINDOWS = {
  '1h': { buckets: 60, bucketSeconds: 60 },
  '6h': { buckets: 72, bucketSeconds: 300 },
  '24h': { buckets: 24, bucketSeconds: 3_600 },
  '7d': { buckets: 168, bucketSeconds: 3_600 },
  '30d': { buckets: 120, bucketSeconds: 21_600 },
  '90d': { buckets: 90, bucketSeconds: 86_400 },
} as const;
export type StatsWindow = keyof typeof STATS_WINDOWS;

const WINDOW_NAMES = ['1h', '6h', '24h', '7d', '30d', '90d'] as const satisfies StatsWindow[];
const windowSchema = z.literal(WINDOW_NAMES, { error: `must be one of ${WINDOW_NAMES.join(', ')}` });

/** Number of cells in a period of states. Consecutive statuses in a cell that are shorter than a cell become one entry. */
export const STATE_CELLS = 1_000;
/** Each cell has at most one entry for short statuses and one for a longer status. */
const MAX_STATE_PERIODS = 2 * (STATE_CELLS + 2);

const MAX_PERIOD_DAYS = 400;

const periodEnd = z
  .string({ error: 'must be given only once' })
  .pipe(
    instant(
      'must be an ISO 8601 timestamp with an offset, such as 2026-01-31T12:00:00Z (write + as %2B in a query)',
    ),
  )
  .meta({ format: 'date-time' })
  .optional();

/** A window that ends now, or a period from `from` to `to`. */
export const periodQuerySchema = z
  .object({
    window: windowSchema.optional().describe('A period that ends now. Default: `24h`.'),
    from: periodEnd.describe('The start of another period, with `to` in place of `window`.'),
    to: periodEnd.describe(
      `The end of that period: later than \`from\`, by at most ${MAX_PERIOD_DAYS} days. The future is left out.`,
    ),
  })
  .superRefine(({ window, from, to }, context) => {
    const refuse = (path: string, message: string): void =>
      context.addIssue({ code: 'custom', path: [path], message });
    if (from === undefined && to === undefined) return;
    if (window !== undefined) refuse('window', 'must not be given together with from or to');
    else if (from === undefined) refuse('from', 'is required with to');
    else if (to === undefined) refuse('to', 'is required with from');
    else if (to <= from) refuse('to', 'must be later than from');
    else if (to.getTime() - from.getTime() > MAX_PERIOD_DAYS * 86_400_000)
      refuse('to', `must be at most ${MAX_PERIOD_DAYS} days after from`);
  });
export type PeriodQuery = z.output<typeof periodQuerySchema>;

const count = z.int().min(0);
const milliseconds = z.int().min(0);

const latencySchema = component(
  'LatencyPercentiles',
  'Of the checks with a response, in whole milliseconds, accurate to 5 %.',
  { p50: milliseconds, p95: milliseconds, p99: milliseconds },
)
  .nullable()
  .describe('Null if no check had a response.');

const share = z.number().min(0).max(1);

const figures = {
  passRate: share.nullable().describe('The share of the checks that passed; null without checks.'),
  checks: count.describe('Checks that ran, including triggered ones.'),
  failures: count.describe('Checks that failed.'),
  inconclusive: count.describe(
    'Checks that failed because of their checker, or while their region may have had no network; not part of `checks`.',
  ),
  gaps: count.describe('Scheduled checks that did not run.'),
  latency: latencySchema,
};
const figuresSchema = z.strictObject(figures);
export type StatsFigures = z.infer<typeof figuresSchema>;

const averageTimingsSchema = component(
  'AverageTimings',
  'Average phases in whole milliseconds; a phase that did not take place counts as 0.',
  {
    dns: milliseconds,
    tcp: milliseconds,
    tls: milliseconds,
    firstByte: milliseconds,
    download: milliseconds,
  },
);
export type AverageTimings = z.infer<typeof averageTimingsSchema>;

export const monitorStatsSchema = z
  .strictObject({
    window: windowSchema.nullable().describe('Null for a period from `from` to `to`.'),
    from: timestamp.describe(
      'Start of the first bucket, which may be before the requested `from`. Checks are counted by whole buckets.',
    ),
    to: timestamp.describe('End of the last bucket, or now if that is earlier.'),
    bucketSeconds: z
      .int()
      .min(60)
      .describe(
        'The length of a bucket: the longer the period, the longer. Less than an hour only where events are kept.',
      ),
    uptime: share
      .nullable()
      .describe(
        'The share of counted time without an open incident, in exactly the requested period. Counted time is measured time without maintenance, as in availability reports by default. Null if no time counts.',
      ),
    measured: share.describe(
      'The share of the requested period in which the monitor existed and had results.',
    ),
    ...figures,
    regions: z
      .array(z.strictObject({ region: z.string(), ...figures }).meta({ id: 'RegionStats' }))
      .describe('Regions with checks or gaps, by name.'),
    current: z
      .array(monitorRegionSchema)
      .describe('The latest result of each region, by code, read together with the figures.'),
    series: z
      .array(
        component('StatsBucket', { start: timestamp, ...figures, timings: averageTimingsSchema.nullable() }),
      )
      .describe(
        'Every bucket of the period, including empty ones, oldest first. All begin at multiples of `bucketSeconds` in UTC.',
      ),
  })
  .meta({ id: 'MonitorStats', description: "A monitor's uptime, checks and latency over a period." });
export type MonitorStats = z.infer<typeof monitorStatsSchema>;

const statePeriodSchema = component('StatePeriod', 'A period in which a monitor had one status.', {
  status: z
    .enum(MONITOR_STATUSES)
    .nullable()
    .describe(
      'Null if it is unknown: the monitor did not exist yet, a result is missing, or its status is no longer kept.',
    ),
  from: timestamp,
  to: timestamp,
  count: z
    .int()
    .min(1)
    .describe(
      'More than 1 if it stands for several periods in a row, each shorter than a thousandth of the whole. Its status is then `DOWN` if one of them was, and otherwise that of the longest.',
    ),
  downSeconds: z.number().min(0).describe('For how long the monitor was `DOWN` in it, to the millisecond.'),
  incidentId: z
    .uuid()
    .nullable()
    .describe('The incident of a period with the status `DOWN`: the last one of several.'),
  cause: errorReasonSchema.nullable().describe('Why the check that opened the incident failed.'),
  errorDetail: z.string().nullable().describe('Details of `cause`, for people.'),
});
export type StatePeriod = z.infer<typeof statePeriodSchema>;

export const monitorStatesSchema = component('MonitorStates', 'The statuses of a monitor over a period.', {
  from: timestamp,
  to: timestamp.describe('At most now.'),
  downSeconds: z
    .number()
    .min(0)
    .describe('For how long incidents were open in measured time, without maintenance.'),
  knownSeconds: z
    .number()
    .min(0)
    .describe('The measured time: for how long the monitor existed and had results.'),
  incidents: count.describe('Incidents that were open at any time of the period.'),
  periods: z
    .array(statePeriodSchema)
    .max(MAX_STATE_PERIODS)
    .describe(
      'Oldest first. Each begins where the one before it ends. Before `EVENT_RETENTION_DAYS`, outages include silences and maintenance and the rest is unknown, so their times may add up to other sums than `downSeconds` and `knownSeconds`.',
    ),
});
export type MonitorStates = z.infer<typeof monitorStatesSchema>;
