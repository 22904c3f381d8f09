/** A value at a moment; milliseconds of any clock. */
export interface Point {
  readonly at: number;
  readonly value: number;
}

/** The development of a value over a run. */
export interface Trend {
  readonly start: number;
  readonly end: number;
  readonly most: number;
  /** Growth in an hour, over the second half. */
  readonly perHour: number;
  /** The lower limit of the growth at 95 %. */
  readonly leastPerHour: number;
  readonly flat: boolean;
}

/** Parts of the second half; one value of each counts. */
const PARTS = 15;
/** Which of a part's values counts. */
export type Counted = 'lowest' | 'median';
const HOUR_MS = 3_600_000;
/** The quantile of the normal distribution at 95 %. */
const ONE_IN_TWENTY = 1.645;

/**
 * Whether a value is flat after a warm-up, which is the first half. One value of each fifteenth of the second half counts: the lowest of
 * what grows until it is collected, the median of what dips now and then. Their slope is the median of the slopes between any two of them
 * (Theil–Sen), which tolerates up to a third of outliers. What goes up and down by itself, such as open connections, may have a slope by
 * chance: only a significant one counts (Sen's limit).
 * @param boundPerHour the growth that still counts as flat
 */
export function trendOf(points: readonly Point[], boundPerHour: number, counted: Counted = 'lowest'): Trend {
  const [first] = points;
  const last = points.at(-1);
  if (first === undefined || last === undefined) throw new TypeError('no points');
  const values = valuesOf(points, first.at + (last.at - first.at) / 2, last.at, counted);
  const slopes = slopesOf(values).map((slope) => slope * HOUR_MS);
  const perHour = medianOf(slopes);
  const leastPerHour = lowerLimitOf(slopes, values.length);
  return {
    start: first.value,
    end: last.value,
    most: Math.max(...points.map(({ value }) => value)),
    perHour,
    leastPerHour,
    flat: perHour <= boundPerHour || leastPerHour <= 0,
  };
}

/** The point of each part of a span of time that counts. */
function valuesOf(points: readonly Point[], from: number, to: number, counted: Counted): Point[] {
  const parts: Point[][] = Array.from({ length: PARTS }, () => []);
  for (const point of points) {
    if (point.at < from) continue;
    parts[Math.min(PARTS - 1, Math.floor(((point.at - from) / (to - from)) * PARTS))]?.push(point);
  }
  return parts.flatMap((part) => {
    const sorted = part.toSorted((a, b) => a.value - b.value);
    return sorted[counted === 'lowest' ? 0 : Math.floor(sorted.length / 2)] ?? [];
  });
}

/** The slopes between any two of the points, per millisecond, ascending. */
function slopesOf(points: readonly Point[]): number[] {
  const slopes: number[] = [];
  for (const [index, a] of points.entries()) {
    for (const b of points.slice(index + 1)) {
      if (b.at > a.at) slopes.push((b.value - a.value) / (b.at - a.at));
    }
  }
  return slopes.sort((a, b) => a - b);
}

/** 0 without values. @param sorted ascending */
function medianOf(sorted: readonly number[]): number {
  const middle = Math.floor(sorted.length / 2);
  const upper = sorted[middle] ?? 0;
  return sorted.length % 2 === 1 ? upper : ((sorted[middle - 1] ?? 0) + upper) / 2;
}

/** Sen's lower limit of the slope, one-sided. @param sorted the slopes, ascending @param points their number */
function lowerLimitOf(sorted: readonly number[], points: number): number {
  const spread = Math.sqrt((points * (points - 1) * (2 * points + 5)) / 18);
  const index = Math.floor((sorted.length - ONE_IN_TWENTY * spread) / 2);
  return sorted[Math.max(0, index)] ?? 0;
}
