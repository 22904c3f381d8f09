import { z } from 'zod';
import { component, timestamp } from '../fields.ts';

/** The buckets of a window: the last one is in progress, and all begin at multiples of their length in UTC. */
export const STATS_WINDOWS = {
  '24h': { buckets: 24, bucketHours: 1 },
  '7d': { buckets: 168, bucketHours: 1 },
  '30d': { buckets: 120, bucketHours: 6 },
  '90d': { buckets: 90, bucketHours: 24 },
} as const;
export type StatsWindow = keyof typeof STATS_WINDOWS;

const windowSchema = z.literal(['24h', '7d', '30d', '90d'] satisfies StatsWindow[], {
  error: `must be one of ${Object.keys(STATS_WINDOWS).join(', ')}`,
});

export const statsQuerySchema = z.object({
  window: windowSchema.default('24h').describe('The period of the statistics.'),
});

const count = z.int().min(0);
const milliseconds = z.int().min(0);

const latencySchema = component(
  'LatencyPercentiles',
  'Of the checks with a response, in whole milliseconds, accurate to 5 %.',
  { p50: milliseconds, p95: milliseconds, p99: milliseconds },
)
  .nullable()
  .describe('Null if no check had a response.');

const figures = {
  uptime: z
    .number()
    .min(0)
    .max(1)
    .nullable()
    .describe('The fraction of the checks that passed; null without checks.'),
  checks: count.describe('Checks that ran, including triggered ones.'),
  failures: count.describe('Checks that failed.'),
  inconclusive: count.describe('Checks that failed while their region had no network; not part of `checks`.'),
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
    window: windowSchema,
    from: timestamp.describe('Start of the first bucket.'),
    to: timestamp.describe('Now.'),
    ...figures,
    regions: z
      .array(z.strictObject({ region: z.string(), ...figures }).meta({ id: 'RegionStats' }))
      .describe('Regions with checks or gaps, by name.'),
    series: z
      .array(
        component('StatsBucket', { start: timestamp, ...figures, timings: averageTimingsSchema.nullable() }),
      )
      .describe(
        'Every bucket of the window, including empty ones, oldest first. All begin at whole hours in UTC.',
      ),
  })
  .meta({ id: 'MonitorStats', description: "A monitor's uptime, gaps and latency over a period." });
export type MonitorStats = z.infer<typeof monitorStatsSchema>;
