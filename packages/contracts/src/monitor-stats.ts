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
export const statsQuerySchema = z.object({ window: windowSchema.default('24h') });

const timestamp = z.iso.datetime({ precision: 3 });
const count = z.int().min(0);
const milliseconds = z.int().min(0);

/** Of the checks that were answered, in whole milliseconds, at most 5 % off; null without any. */
const latencySchema = z.strictObject({ p50: milliseconds, p95: milliseconds, p99: milliseconds }).nullable();

/** What the checks of some time were. */
const figures = {
  /** The part of the checks that passed; null without any. */
  uptime: z.number().min(0).max(1).nullable(),
  checks: count,
  failures: count,
  /** Planned checks that did not happen. */
  gaps: count,
  latency: latencySchema,
};
const figuresSchema = z.strictObject(figures);
export type StatsFigures = z.infer<typeof figuresSchema>;

/** Average phases of the checks that were answered; a phase that did not take place took no time. */
const averageTimingsSchema = z.strictObject({
  dns: milliseconds,
  tcp: milliseconds,
  tls: milliseconds,
  firstByte: milliseconds,
  download: milliseconds,
});
export type AverageTimings = z.infer<typeof averageTimingsSchema>;

/** A monitor's statistics as the dashboard API answers them (design §3 "Dashboard API"). */
export const monitorStatsSchema = z
  .strictObject({
    window: windowSchema,
    /** The start of the first bucket. */
    from: timestamp,
    /** Now. */
    to: timestamp,
    ...figures,
    /** Those that have checks or gaps, by name. */
    regions: z.array(z.strictObject({ region: z.string(), ...figures })),
    /** Every bucket of the window, empty ones too, oldest first. */
    series: z.array(
      z.strictObject({ start: timestamp, ...figures, timings: averageTimingsSchema.nullable() }),
    ),
  })
  .meta({ id: 'MonitorStats' });
export type MonitorStats = z.infer<typeof monitorStatsSchema>;
