import { type MonitorStats, STATS_WINDOWS, type StatsWindow } from '@tocsin/contracts/monitors/stats';
import { formatUtcSpan } from '../../../components/format.ts';
import { PHASES } from '../phases.ts';

/** The height of the plot and the table in pixels. */
export const PLOT_HEIGHT = 260;

type Buckets = MonitorStats['series'];

/** The middle of each bucket in seconds, then the stacked phases. The largest sum comes first, so that the smaller ones paint over it. */
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

/** The range of the time axis in seconds. The last bucket has its full width, although it is incomplete. */
export function timeRange(buckets: Buckets, window: StatsWindow): [number, number] {
  const first = Date.parse(buckets[0]?.start ?? '1970-01-01T00:00:00.000Z') / 1_000;
  return [first, first + Math.max(1, buckets.length) * bucketSeconds(window)];
}

/** The end of the latency axis, with room above the highest bar for the marks of failures. */
export function latencyTop(highest: number | null): number {
  return Math.max(10, (highest ?? 0) * 1.15);
}

/** Labels the time axis in the reader's time zone: with the date at midnight, otherwise with the time. */
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

/** Formats the range of a bucket in the reader's time zone. */
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
