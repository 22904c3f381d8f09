import type { StatsWindow } from '@tocsin/contracts/monitors/stats';
import { timeTicks as ticksBetween } from 'd3-time';
import { type HistorySearch, WINDOWS } from './history-search.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;
/** Minimum period when zooming. `MAX_DAYS` is the API's limit. */
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

/** Query of the API: a window that ends now, or a period as ISO 8601. */
export type PeriodChoice = { readonly window: StatsWindow } | { readonly from: string; readonly to: string };

/** The period of the URL. Defaults to a day, or less for a younger monitor. @param ageMs age of the monitor */
export function choosePeriod({ range, from, to }: HistorySearch, ageMs: number): PeriodChoice {
  if (from !== undefined && to !== undefined) {
    const length = Date.parse(to) - Date.parse(from);
    if (length > 0 && length <= MAX_DAYS * DAY_MS) return { from, to };
  }
  return { window: range ?? (isTooLong('24h', ageMs) ? (ageMs < HOUR_MS ? '1h' : '6h') : '24h') };
}

/** True if a shorter window already contains the monitor's whole history. */
export function isTooLong(window: StatsWindow, ageMs: number): boolean {
  const shorter = WINDOWS[WINDOWS.indexOf(window) - 1];
  return shorter !== undefined && ageMs <= WINDOW_MS[shorter];
}

/** Time range of the charts in epoch milliseconds. */
export interface Axis {
  readonly from: number;
  readonly to: number;
}

/** Position of a period on the axis in percent, clipped to the axis. */
export function placeOf({ from, to }: Axis, start: number, end: number): { left: number; width: number } {
  const percent = (time: number): number => ((Math.min(Math.max(time, from), to) - from) / (to - from)) * 100;
  const left = percent(start);
  return { left, width: percent(end) - left };
}

/** The time at a position on the axis. @param part from 0 to 1 */
export function timeAt({ from, to }: Axis, part: number): number {
  return from + Math.min(Math.max(part, 0), 1) * (to - from);
}

/**
 * The period between two times in any order, extended to whole minutes and a minimum length. Null if it includes the whole axis.
 * @param now latest possible end, in epoch milliseconds
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
  // The axis ends now, which is rarely at a whole minute.
  if (start <= axis.from && end >= axis.to) return null;
  const late = Math.max(0, start - (now - MIN_ZOOM_MS));
  return { from: new Date(start - late).toISOString(), to: new Date(Math.min(end, now)).toISOString() };
}

/** Half of the axis around a time. */
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

/** Approximate number of labels that fit next to each other. */
const TICKS = 6;

const DAY = new Intl.DateTimeFormat(undefined, { day: 'numeric', month: 'short' });
const TIME = new Intl.DateTimeFormat(undefined, { hour: '2-digit', minute: '2-digit' });

/** Labels of the time axis, at whole minutes, hours or midnights in the user's time zone. `left` is in percent. */
export function timeTicks({ from, to }: Axis): { readonly label: string; readonly left: number }[] {
  return ticksBetween(new Date(from), new Date(to), TICKS).map((tick) => {
    const isMidnight = tick.getHours() === 0 && tick.getMinutes() === 0;
    const label = (isMidnight ? DAY : TIME).format(tick);
    return { label, left: placeOf({ from, to }, tick.getTime(), to).left };
  });
}

const MINUTES = {
  weekday: 'short',
  day: 'numeric',
  month: 'short',
  hour: '2-digit',
  minute: '2-digit',
  timeZoneName: 'short',
} as const;
const RANGE = new Intl.DateTimeFormat(undefined, MINUTES);
const RANGE_WITH_SECONDS = new Intl.DateTimeFormat(undefined, { ...MINUTES, second: '2-digit' });

/** Formats as `from Sun 1 Mar, 12:00 to Sun 1 Mar, 13:00` in the user's time zone. */
export function describeFromTo(from: number, to: number): string {
  return `from ${RANGE.format(from)} to ${RANGE.format(to)}`;
}

/** Formats a period in the user's time zone. @param withSeconds for periods that may not start at a whole minute */
export function describeRange(from: number, to: number, withSeconds = false): string {
  return (withSeconds ? RANGE_WITH_SECONDS : RANGE).formatRange(from, to);
}
