import type { StatsWindow } from '@tocsin/contracts/monitors/stats';
import { type HistorySearch, WINDOWS } from './history-search.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;
/** The shortest period that zooming shows, and the longest that the api returns. */
const MIN_ZOOM_MS = 5 * MINUTE_MS;
const MAX_DAYS = 400;

export const WINDOW_NAMES: Readonly<Record<StatsWindow, string>> = {
  '1h': '1 hour',
  '6h': '6 hours',
  '24h': '24 hours',
  '7d': '7 days',
  '30d': '30 days',
  '90d': '90 days',
};
const WINDOW_MS: Readonly<Record<StatsWindow, number>> = {
  '1h': HOUR_MS,
  '6h': 6 * HOUR_MS,
  '24h': DAY_MS,
  '7d': 7 * DAY_MS,
  '30d': 30 * DAY_MS,
  '90d': 90 * DAY_MS,
};

/** A window that ends now, or another period as ISO 8601: what the api is asked for. */
export type PeriodChoice = { readonly window: StatsWindow } | { readonly from: string; readonly to: string };

/** The period of the URL. Without one, it is a day, or less for a monitor that is younger. @param ageMs of the monitor */
export function choosePeriod({ range, from, to }: HistorySearch, ageMs: number): PeriodChoice {
  if (from !== undefined && to !== undefined) {
    const length = Date.parse(to) - Date.parse(from);
    if (length > 0 && length <= MAX_DAYS * DAY_MS) return { from, to };
  }
  return { window: range ?? (isTooLong('24h', ageMs) ? (ageMs < HOUR_MS ? '1h' : '6h') : '24h') };
}

/** Whether a shorter window already begins before the monitor was created, so that this one has nothing more to show. */
export function isTooLong(window: StatsWindow, ageMs: number): boolean {
  const shorter = WINDOWS[WINDOWS.indexOf(window) - 1];
  return shorter !== undefined && ageMs <= WINDOW_MS[shorter];
}

/** The time that the charts show, in epoch milliseconds. */
export interface Axis {
  readonly from: number;
  readonly to: number;
}

/** Where a period is on the axis, in percent. Parts beyond the axis are cut off. */
export function placeOf({ from, to }: Axis, start: number, end: number): { left: number; width: number } {
  const percent = (time: number): number => ((Math.min(Math.max(time, from), to) - from) / (to - from)) * 100;
  const left = percent(start);
  return { left, width: percent(end) - left };
}

/** The time at a part of the axis. @param part from 0 to 1 */
export function timeAt({ from, to }: Axis, part: number): number {
  return from + Math.min(Math.max(part, 0), 1) * (to - from);
}

/**
 * The period between two moments in any order, in whole minutes, and long enough to be read. Null if that is the whole axis or more.
 * @param now the end of what can be shown, epoch milliseconds
 */
export function zoomTo(
  axis: Axis,
  one: number,
  other: number,
  now: number,
): { from: string; to: string } | null {
  const missing = Math.max(0, MIN_ZOOM_MS - Math.abs(one - other)) / 2;
  const start = Math.floor((Math.min(one, other) - missing) / MINUTE_MS) * MINUTE_MS;
  const end = Math.ceil((Math.max(one, other) + missing) / MINUTE_MS) * MINUTE_MS;
  // The end of the axis is now, which is rarely a whole minute.
  if (start <= axis.from && end >= axis.to) return null;
  const late = Math.max(0, start - (now - MIN_ZOOM_MS));
  return { from: new Date(start - late).toISOString(), to: new Date(Math.min(end, now)).toISOString() };
}

/** Half of the axis around a moment. */
export function zoomIn(axis: Axis, around: number, now: number): ReturnType<typeof zoomTo> {
  const quarter = (axis.to - axis.from) / 4;
  return zoomTo(axis, around - quarter, around + quarter, now);
}

/** Twice the axis. */
export function zoomOut({ from, to }: Axis, now: number): { from: string; to: string } {
  const half = (to - from) / 2;
  const end = Math.min(to + half, now);
  const start = Math.max(from - half, end - MAX_DAYS * DAY_MS);
  return { from: new Date(start).toISOString(), to: new Date(end).toISOString() };
}

/** Steps between labels of the time axis. Those of days follow the calendar of the reader. */
const STEPS_MS = [
  MINUTE_MS,
  5 * MINUTE_MS,
  10 * MINUTE_MS,
  30 * MINUTE_MS,
  HOUR_MS,
  3 * HOUR_MS,
  6 * HOUR_MS,
  12 * HOUR_MS,
  DAY_MS,
  2 * DAY_MS,
  5 * DAY_MS,
  15 * DAY_MS,
  30 * DAY_MS,
  90 * DAY_MS,
];
const MAX_TICKS = 8;

const DAY = new Intl.DateTimeFormat(undefined, { day: 'numeric', month: 'short' });
const TIME = new Intl.DateTimeFormat(undefined, { hour: '2-digit', minute: '2-digit' });

/** The labels of the time axis, at whole minutes, hours or midnights of the reader's time zone. `left` is in percent. */
export function timeTicks({ from, to }: Axis): { readonly label: string; readonly left: number }[] {
  const step = STEPS_MS.find((ms) => (to - from) / ms <= MAX_TICKS) ?? 90 * DAY_MS;
  const ticks = [];
  const tick = new Date(from);
  tick.setHours(0, 0, 0, 0);
  while (tick.getTime() < to) {
    if (tick.getTime() >= from) {
      const isMidnight = tick.getHours() === 0 && tick.getMinutes() === 0;
      const label = (isMidnight ? DAY : TIME).format(tick);
      ticks.push({ label, left: placeOf({ from, to }, tick.getTime(), to).left });
    }
    if (step >= DAY_MS) tick.setDate(tick.getDate() + step / DAY_MS);
    else tick.setTime(tick.getTime() + step);
  }
  return ticks;
}

const MINUTES = {
  weekday: 'short',
  day: 'numeric',
  month: 'short',
  hour: '2-digit',
  minute: '2-digit',
} as const;
const RANGE = new Intl.DateTimeFormat(undefined, MINUTES);
const RANGE_WITH_SECONDS = new Intl.DateTimeFormat(undefined, { ...MINUTES, second: '2-digit' });

/** Formats a period in the reader's time zone for a sentence, as `from Sun 1 Mar, 12:00 to Sun 1 Mar, 13:00`. */
export function describeFromTo(from: number, to: number): string {
  return `from ${RANGE.format(from)} to ${RANGE.format(to)}`;
}

/** Formats a period in the reader's time zone. @param withSeconds for periods that need not begin at a whole minute */
export function describeRange(from: number, to: number, withSeconds = false): string {
  return (withSeconds ? RANGE_WITH_SECONDS : RANGE).formatRange(from, to);
}
