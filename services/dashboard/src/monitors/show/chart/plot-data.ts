import { type MonitorStats, STATS_WINDOWS, type StatsWindow } from '@tocsin/contracts/monitors/stats';
import { formatUtcSpan } from '../../../components/format.ts';
import { barScale, PHASES } from '../phases.ts';

type Buckets = MonitorStats['series'];

function bucketMs(window: StatsWindow): number {
  return STATS_WINDOWS[window].bucketHours * 3_600_000;
}

/** The end of the latency axis in milliseconds, with room above the highest bar for the marks of failures. */
export function latencyTop(buckets: Buckets): number {
  const sums = buckets.map(({ timings }) =>
    PHASES.reduce((sum, { phase }) => sum + (timings?.[phase] ?? 0), 0),
  );
  return Math.max(10, Math.max(...sums) * 1.15);
}

/** The labels of the latency axis in milliseconds. */
export function latencyTicks(top: number): number[] {
  const step = barScale(top / 4);
  return Array.from({ length: Math.floor(top / step) + 1 }, (_, index) => index * step);
}

const TICK_HOURS: Readonly<Record<StatsWindow, number>> = { '24h': 3, '7d': 24, '30d': 120, '90d': 360 };

/**
 * The labels of the time axis, at whole hours or midnights of the reader's time zone.
 * @returns each with its position from 0 to 1
 */
export function timeTicks(
  buckets: Buckets,
  window: StatsWindow,
): { readonly label: string; readonly position: number }[] {
  const start = Date.parse(buckets[0]?.start ?? '');
  const length = buckets.length * bucketMs(window);
  const ticks = [];
  const tick = new Date(start);
  for (
    tick.setHours(0, 0);
    tick.getTime() < start + length;
    tick.setHours(tick.getHours() + TICK_HOURS[window])
  )
    if (tick.getTime() >= start)
      ticks.push({ label: axisLabel(tick), position: (tick.getTime() - start) / length });
  return ticks;
}

const DAY = new Intl.DateTimeFormat(undefined, { day: 'numeric', month: 'short' });
const TIME = new Intl.DateTimeFormat(undefined, { hour: '2-digit', minute: '2-digit' });

function axisLabel(date: Date): string {
  return (date.getHours() === 0 ? DAY : TIME).format(date);
}

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
  return [from, new Date(from.getTime() + bucketMs(window))];
}
