/** A value at a time in milliseconds, by any clock. */
export interface Point {
  readonly at: number;
  readonly value: number;
}

export interface Trend {
  readonly start: number;
  readonly end: number;
  readonly most: number;
  /** Growth per hour, measured over the second half. */
  readonly perHour: number;
  readonly leastPerHour: number;
  readonly flat: boolean;
}

/** The second half is divided into this many parts, and one value from each counts. */
const PARTS = 15;
type Counted = 'lowest' | 'median';
const HOUR_MS = 3_600_000;
const QUANTILE_95 = 1.645;

/**
 * Determines whether a value is flat after its warm-up, which is the first half. The slope is the median of the slopes between any two
 * counted values (Theil–Sen), which tolerates up to a third of outliers. A value that goes up and down, such as open connections, may have
 * a slope by chance, so only a significant one counts (Sen's limit).
 * @param boundPerHour growth up to this bound counts as flat
 * @param counted the lowest value for what grows until it is collected, the median for what dips now and then
 */
export function trendOf(points: readonly Point[], boundPerHour: number, counted: Counted = 'lowest'): Trend {
  const [first, last] = [points[0], points.at(-1)];
  if (first === undefined || last === undefined) throw new TypeError('no points');
  const chosen = chooseOfParts(points, first.at + (last.at - first.at) / 2, last.at, counted);
  const slopes = slopesPerHour(chosen);
  const perHour = slopes[Math.floor(slopes.length / 2)] ?? 0;
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

/** Returns the counted point from each part of a time span. */
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

function slopesPerHour(points: readonly Point[]): number[] {
  const slopes = points.flatMap((a, index) =>
    points
      .slice(index + 1)
      .filter((b) => b.at > a.at)
      .map((b) => ((b.value - a.value) / (b.at - a.at)) * HOUR_MS),
  );
  return slopes.sort((a, b) => a - b);
}
