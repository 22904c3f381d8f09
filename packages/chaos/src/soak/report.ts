import { formatNumber } from '@tocsin/bench/report/table';
import type { LoadRecord } from '../load/load-record.ts';
import type { Violation } from '../oracle/record.ts';
import { markdownTable } from '../report.ts';
import type { Sample } from './sample.ts';
import { trendOf, type Trend } from './trend.ts';

export type NamedTrend = Trend & { readonly name: string };

/** In a shorter run the warm-up of a process would look like a leak. */
export const MIN_MINUTES = 10;

/** How much a value may grow in an hour and still count as flat. */
const MAX_PER_HOUR = {
  /**
   * 15 bytes for each of the 1,080,000 checks of an hour at 300 a second. The smallest value that JavaScript can keep takes as much,
   * so anything that is kept for each check exceeds it, and so do 400 bytes for each webhook.
   */
  bytes: 16_000_000,
  /** The samples of an unchanged process spread by half of it; Redis and its allocator are steadier. */
  redisBytes: 4_000_000,
  /** A connection or a file that leaks with each restart of anything would be more. */
  things: 12,
} as const;

function boundOf(name: string): number {
  if (!isBytes(name)) return MAX_PER_HOUR.things;
  return name.startsWith('redis') ? MAX_PER_HOUR.redisBytes : MAX_PER_HOUR.bytes;
}

function isBytes(name: string): boolean {
  return /(resident|heap|private|used)$/.test(name);
}

/** The trend of everything that was sampled. @param samples with their times, in order; the first one is complete */
export function trendsOf(samples: readonly (readonly [number, Sample])[]): NamedTrend[] {
  const names = [...(samples[0]?.[1].keys() ?? [])].sort();
  return names.map((name) => {
    // Heaps are measured less often.
    const points = samples.flatMap(([at, sample]) => {
      const value = sample.get(name);
      return value === undefined ? [] : [{ at, value }];
    });
    // Resident memory dips by 10 to 50 MB after each requested collection, an effect of measuring: its median is the actual usage.
    const counted = name.endsWith('resident') ? 'median' : 'lowest';
    return Object.assign(trendOf(points, boundOf(name), counted), { name });
  });
}

export function growthViolations(
  minutes: number,
  trends: readonly NamedTrend[],
  { unavailable }: Pick<LoadRecord['stream'], 'unavailable'>,
): Violation[] {
  const growing = minutes < MIN_MINUTES ? [] : trends.filter(({ flat }) => !flat);
  const refused = unavailable === 0 ? [] : [`${unavailable} streams were refused with 503`];
  return [
    ...growing.map(({ name }) => ({ invariant: 'nothing grows', detail: `${name} grows` })),
    ...refused.map((detail) => ({ invariant: 'the api accepts live streams', detail })),
  ];
}

/** The trends as a table in Markdown. */
export function describeTrends(minutes: number, trends: readonly NamedTrend[]): string {
  const rows = trends.map(({ name, start, end, most, perHour, flat }) => {
    const unit = isBytes(name) ? 1_000_000 : 1;
    const values = [start, end, most, perHour, boundOf(name)].map((value) => formatNumber(value / unit));
    return [name, ...values, minutes < MIN_MINUTES ? '–' : flat ? 'flat' : '**GROWS**'];
  });
  return markdownTable(['MB, or number', 'start', 'end', 'most', 'per hour', 'bound', 'verdict'], rows);
}
