/** A value at a moment; milliseconds of any clock. */
export interface Point {
  readonly at: number;
  readonly value: number;
}

/** What became of a value over a run. */
export interface Trend {
  readonly start: number;
  readonly end: number;
  readonly most: number;
  /** By which it grows in an hour, over the second half. */
  readonly perHour: number;
  readonly flat: boolean;
}

/** Parts of the second half; of each, the lowest value counts. */
const PARTS = 15;
const HOUR_MS = 3_600_000;

/**
 * Whether a value stays, after a time to warm up (the first half). A heap grows until it is collected: what is kept shows in the lowest
 * values, so of each fifteenth of the second half the lowest one is taken, and of the slopes between any two of those the median
 * (Theil–Sen), which a third of them cannot mislead.
 * @param boundPerHour it is flat where it grows by no more
 */
export function trendOf(points: readonly Point[], boundPerHour: number): Trend {
  const [first] = points;
  const last = points.at(-1);
  if (first === undefined || last === undefined) throw new TypeError('a trend of nothing');
  const perHour = medianSlope(floorsOf(points, first.at + (last.at - first.at) / 2, last.at)) * HOUR_MS;
  return {
    start: first.value,
    end: last.value,
    most: Math.max(...points.map(({ value }) => value)),
    perHour,
    flat: perHour <= boundPerHour,
  };
}

/** The lowest point of each part of a span of time. */
function floorsOf(points: readonly Point[], from: number, to: number): Point[] {
  const floors: (Point | undefined)[] = Array.from({ length: PARTS }, () => undefined);
  for (const point of points) {
    if (point.at < from) continue;
    const part = Math.min(PARTS - 1, Math.floor(((point.at - from) / (to - from)) * PARTS));
    const known = floors[part];
    if (known === undefined || point.value < known.value) floors[part] = point;
  }
  return floors.filter((floor) => floor !== undefined);
}

/** Per millisecond; 0 where there are not two moments. */
function medianSlope(points: readonly Point[]): number {
  const slopes: number[] = [];
  for (const [index, a] of points.entries()) {
    for (const b of points.slice(index + 1)) {
      if (b.at > a.at) slopes.push((b.value - a.value) / (b.at - a.at));
    }
  }
  slopes.sort((a, b) => a - b);
  const middle = Math.floor(slopes.length / 2);
  const upper = slopes[middle] ?? 0;
  return slopes.length % 2 === 1 ? upper : ((slopes[middle - 1] ?? 0) + upper) / 2;
}
