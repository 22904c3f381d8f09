/** A value at a time; milliseconds of any clock. */
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
const QUANTILE_95 = 1.645;

/**
 * Whether a value is flat after a warm-up, which is the first half. One value of each fifteenth of the second half counts: the lowest of
 * what grows until it is collected, the median of what dips now and then. Their slope is the median of the slopes between any two of them
 * (Theil–Sen), which tolerates up to a third of outliers. A value that goes up and down by itself, such as open connections, may have a
 * slope by chance: only a significant one counts (Sen's limit).
 * @param boundPerHour the growth that still counts as flat
 */
export function trendOf(points: readonly Point[], boundPerHour: number, counted: Counted = 'lowest'): Trend {
  const [first, last] = [points[0], points.at(-1)];
  if (first === undefined || last === undefined) throw new TypeError('no points');
  const chosen = chooseOfParts(points, first.at + (last.at - first.at) / 2, last.at, counted);
  const slopes = slopesPerHour(chosen);
  const middle = Math.floor(slopes.length / 2);
  const upper = slopes[middle] ?? 0;
  const perHour = slopes.length % 2 === 1 ? upper : ((slopes[middle - 1] ?? 0) + upper) / 2;
  const count = chosen.length;
  const spread = Math.sqrt((count * (count - 1) * (2 * count + 5)) / 18);
  const limit = Math.max(0, Math.floor((slopes.length - QUANTILE_95 * spread) / 2));
  const leastPerHour = slopes[limit] ?? 0;
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
function chooseOfParts(points: readonly Point[], from: number, to: number, counted: Counted): Point[] {
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

/** The slopes between any two of the points, ascending. */
function slopesPerHour(points: readonly Point[]): number[] {
  const slopes = points.flatMap((a, index) =>
    points
      .slice(index + 1)
      .filter((b) => b.at > a.at)
      .map((b) => ((b.value - a.value) / (b.at - a.at)) * HOUR_MS),
  );
  return slopes.sort((a, b) => a - b);
}
