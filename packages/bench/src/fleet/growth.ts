import { distributionOf } from '../measure/percentiles.ts';

/** A value at a time, in milliseconds of any clock. */
export interface Point {
  readonly at: number;
  readonly value: number;
}

export interface Growth {
  /** The medians of the first and the last quarter. */
  readonly first: number;
  readonly last: number;
  readonly growth: number;
  readonly perHour: number;
  readonly max: number;
}

const HOUR_MS = 3_600_000;
/** The middles of the first and the last quarter are this share of the time apart. */
const APART = 3 / 4;

/** How much a value grew, by the medians of the first and the last quarter of the time. @param points without the warm-up, in order */
export function growthOf(points: readonly Point[]): Growth {
  const [start, end] = [points[0]?.at ?? Number.NaN, points.at(-1)?.at ?? Number.NaN];
  const quarter = (end - start) / 4;
  const median = (isCounted: (at: number) => boolean): number =>
    distributionOf(points.flatMap(({ at, value }) => (isCounted(at) ? [value] : []))).p50;
  const first = median((at) => at <= start + quarter);
  const last = median((at) => at >= end - quarter);
  return {
    first,
    last,
    growth: last - first,
    perHour: ((last - first) / ((end - start) * APART)) * HOUR_MS,
    max: distributionOf(points.map(({ value }) => value)).max,
  };
}
