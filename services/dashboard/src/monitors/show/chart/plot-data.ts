import { type MonitorStats, STATS_WINDOWS, type StatsWindow } from '@tocsin/contracts/monitors/stats';
import { formatUtcSpan } from '../../../components/format.ts';
import { PHASES } from '../phases.ts';

/** In pixels: of the plot, of the table in its place, and of what stands there while either loads. */
export const PLOT_HEIGHT = 260;

type Buckets = MonitorStats['series'];

/** Rows of the plot: the middles of the buckets in seconds, then the phases stacked, the whole first, so that each is painted over. */
type PlotData = [number[], ...(number | null)[][]];

export function bucketSeconds(window: StatsWindow): number {
  return STATS_WINDOWS[window].bucketHours * 3_600;
}

export function toPlotData(buckets: Buckets, window: StatsWindow): PlotData {
  const half = bucketSeconds(window) / 2;
  const stacked = PHASES.map((_, last) =>
    buckets.map(({ timings }) =>
      timings === null ? null : PHASES.slice(0, last + 1).reduce((sum, { phase }) => sum + timings[phase], 0),
    ),
  );
  return [buckets.map(({ start }) => Date.parse(start) / 1_000 + half), ...stacked.toReversed()];
}

/** The ends of the axis of time, in seconds; the last bucket is shown whole, though it still runs. */
export function timeRange(buckets: Buckets, window: StatsWindow): [number, number] {
  const first = Date.parse(buckets[0]?.start ?? '1970-01-01T00:00:00.000Z') / 1_000;
  return [first, first + Math.max(1, buckets.length) * bucketSeconds(window)];
}

/** The end of the axis of latency: room above the highest bar for the marks of failures. */
export function latencyTop(highest: number | null): number {
  return Math.max(10, (highest ?? 0) * 1.15);
}

/** What to say of an instant on the axis: the day at midnight, else the time of day, both in the reader's zone. */
export function axisLabel(seconds: number): string {
  const date = new Date(seconds * 1_000);
  const midnight = date.getHours() === 0 && date.getMinutes() === 0;
  return midnight ? DAY.format(date) : TIME.format(date);
}

const DAY = new Intl.DateTimeFormat(undefined, { day: 'numeric', month: 'short' });
const TIME = new Intl.DateTimeFormat(undefined, { hour: '2-digit', minute: '2-digit' });

const RANGE = new Intl.DateTimeFormat(undefined, {
  weekday: 'short',
  day: 'numeric',
  month: 'short',
  hour: '2-digit',
  minute: '2-digit',
});

/** When a bucket begins and ends, in the reader's zone. */
export function describeBucket(start: string, window: StatsWindow): string {
  return RANGE.formatRange(...endsOf(start, window));
}

export function describeBucketUtc(start: string, window: StatsWindow): string {
  return formatUtcSpan(...endsOf(start, window));
}

function endsOf(start: string, window: StatsWindow): [Date, Date] {
  const from = new Date(start);
  return [from, new Date(from.getTime() + bucketSeconds(window) * 1_000)];
}
