import { formatNumber } from '@tocsin/bench/report/table';
import { markdownTable } from '../campaign/report.ts';
import type { StreamTally } from '../load/stream-client.ts';
import type { Violation } from '../oracle/record.ts';
import { boundOf, countedOf, isBytes, type Sample } from './sample.ts';
import { trendOf, type Trend } from './trend.ts';

export type NamedTrend = Trend & { readonly name: string };

/** A shorter run says nothing about an hour: the warm-up of a process would look like a leak. */
export const MIN_MINUTES = 10;

/** The trend of everything that was sampled. @param samples by their moment, in order; the first one is complete */
export function trendsOf(samples: readonly (readonly [number, Sample])[]): NamedTrend[] {
  const names = [...(samples[0]?.[1].keys() ?? [])].sort();
  return names.map((name) => {
    // Not everything is measured each time.
    const points = samples.flatMap(([at, sample]) => {
      const value = sample.get(name);
      return value === undefined ? [] : [{ at, value }];
    });
    return Object.assign(trendOf(points, boundOf(name), countedOf(name)), { name });
  });
}

export function growthViolations(
  minutes: number,
  trends: readonly NamedTrend[],
  { unavailable }: Pick<StreamTally, 'unavailable'>,
): Violation[] {
  const growing = minutes < MIN_MINUTES ? [] : trends.filter(({ flat }) => !flat);
  return [
    ...growing.map(({ name }) => ({ invariant: 'nothing grows', detail: `${name} grows` })),
    ...(unavailable === 0
      ? []
      : [
          {
            invariant: 'the api accepts live streams',
            detail: `${unavailable} streams were refused with 503`,
          },
        ]),
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
