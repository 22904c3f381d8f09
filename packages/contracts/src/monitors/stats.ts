import { z } from 'zod';

/** How a window of statistics is cut: the last bucket is the one that runs, and all begin at multiples of their length in UTC. */
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

/** Query of a monitor's statistics. */
export const statsQuerySchema = z.object({
  window: windowSchema.default('24h').describe('How far back the figures reach.'),
});

const timestamp = z.iso.datetime({ precision: 3 });
const count = z.int().min(0);
const milliseconds = z.int().min(0);

/** Of the checks that were answered, in whole milliseconds, at most 5 % off; null without any. */
const latencySchema = z
  .strictObject({ p50: milliseconds, p95: milliseconds, p99: milliseconds })
  .meta({
    id: 'LatencyPercentiles',
    description: 'Of the checks that were answered, in whole milliseconds, at most 5 % off.',
  })
  .nullable()
  .describe('Null where no check was answered.');

/** What the checks of some time were. */
const figures = {
  uptime: z
    .number()
    .min(0)
    .max(1)
    .nullable()
    .describe('The part of the checks that passed; null without any.'),
  checks: count.describe('Those that ran, triggered ones too.'),
  failures: count.describe('Those that did not pass.'),
  gaps: count.describe('Planned checks that did not happen.'),
  latency: latencySchema,
};
const figuresSchema = z.strictObject(figures);
export type StatsFigures = z.infer<typeof figuresSchema>;

/** Average phases of the checks that were answered; a phase that did not take place took no time. */
const averageTimingsSchema = z
  .strictObject({
    dns: milliseconds,
    tcp: milliseconds,
    tls: milliseconds,
    firstByte: milliseconds,
    download: milliseconds,
  })
  .meta({
    id: 'AverageTimings',
    description: 'Average phases in whole milliseconds; a phase that did not take place counts as 0.',
  });
export type AverageTimings = z.infer<typeof averageTimingsSchema>;

/** A monitor's statistics as the dashboard API answers them (design §3 "Dashboard API"). */
export const monitorStatsSchema = z
  .strictObject({
    window: windowSchema,
    from: timestamp.describe('The start of the first bucket.'),
    to: timestamp.describe('Now.'),
    ...figures,
    regions: z
      .array(z.strictObject({ region: z.string(), ...figures }).meta({ id: 'RegionStats' }))
      .describe('Those that have checks or gaps, by name.'),
    series: z
      .array(
        z
          .strictObject({ start: timestamp, ...figures, timings: averageTimingsSchema.nullable() })
          .meta({ id: 'StatsBucket' }),
      )
      .describe('Every bucket of the window, empty ones too, oldest first; all begin at whole hours in UTC.'),
  })
  .meta({ id: 'MonitorStats', description: "A monitor's uptime, gaps and latency over a window of time." });
export type MonitorStats = z.infer<typeof monitorStatsSchema>;
