import type { ErrorReason } from '@tocsin/contracts/vocabulary';

const TIME_OF_DAY = { hour: 'numeric', minute: '2-digit', second: '2-digit' } as const;
const CLOCK = new Intl.DateTimeFormat(undefined, TIME_OF_DAY);
const CLOCK_IN_ZONE = new Intl.DateTimeFormat(undefined, { ...TIME_OF_DAY, timeZoneName: 'short' });
const LOCAL = new Intl.DateTimeFormat(undefined, {
  year: 'numeric',
  month: 'short',
  day: 'numeric',
  ...TIME_OF_DAY,
  timeZoneName: 'short',
});
const NUMBER = new Intl.NumberFormat('en');
/** British English has no comma before `and`. */
const LIST = new Intl.ListFormat('en-GB');
const DAY = new Intl.DateTimeFormat(undefined, { day: 'numeric', month: 'short' });
/** Each unit with its length in seconds and the count at which the next unit begins. */
const UNITS = [
  ['d', 86_400, Infinity],
  ['h', 3_600, 24],
  ['min', 60, 60],
  ['s', 1, 60],
] as const;

/** Formats date, time and zone in the user's time zone and locale. */
export function formatLocal(date: Date): string {
  return LOCAL.format(date);
}

/** Formats the time of day in the user's time zone and locale, below a heading that names the zone. */
export function formatTime(date: Date): string {
  return CLOCK.format(date);
}

/** Formats the time of day with its zone, and the date if it is not that of `nowMs`. */
export function formatClock(date: Date, nowMs: number, clock = CLOCK_IN_ZONE): string {
  const today = date.toDateString() === new Date(nowMs).toDateString();
  return today ? clock.format(date) : `${DAY.format(date)}, ${clock.format(date)}`;
}

/** Formats as `formatClock`, in a column whose title names the zone. */
export function formatRowClock(date: Date, nowMs: number): string {
  return formatClock(date, nowMs, CLOCK);
}

/** The user's time zone at a time, such as `CET`. */
export function zoneName(date: Date): string {
  return CLOCK_IN_ZONE.formatToParts(date).find(({ type }) => type === 'timeZoneName')?.value ?? '';
}

/** Formats as `2026-03-01 12:00:00 UTC`. */
export function formatUtc(date: Date): string {
  return `${date.toISOString().slice(0, 19).replace('T', ' ')} UTC`;
}

/** Formats as `2026-03-01 12:00 to 13:00 UTC`. The end includes the date only if it differs. */
export function formatUtcSpan(from: Date, to: Date): string {
  const [start, end] = [from, to].map((date) => date.toISOString().slice(0, 16).replace('T', ' '));
  const day = start?.slice(0, 11) ?? '';
  return `${start} to ${end?.startsWith(day) === true ? end.slice(day.length) : end} UTC`;
}

/** Formats a duration in its largest units, as `2 d 4 h`. Less than a second is `0 s`. @param units maximum number of units */
export function formatSpan(seconds: number, units = 2): string {
  const whole = Math.max(0, Math.floor(seconds));
  const counts = UNITS.map(([unit, size, limit]) => [Math.floor(whole / size) % limit, unit] as const);
  const first = counts.findIndex(([count]) => count > 0);
  const parts = counts.slice(first, first + units).filter(([count]) => count > 0);
  return parts.map((part) => part.join(' ')).join(' ') || '0 s';
}

/** Formats a time relative to `nowMs`, as `5 min ago` or `in 5 min`. */
export function formatAgo(date: Date, nowMs: number): string {
  const seconds = (nowMs - date.getTime()) / 1_000;
  if (Math.abs(seconds) < 10) return 'just now';
  const largest = formatSpan(Math.abs(seconds), 1);
  return seconds > 0 ? `${largest} ago` : `in ${largest}`;
}

/** Formats as `74 ms`, `2.35 s` or `12.5 s`. */
export function formatLatency(ms: number): string {
  if (ms < 1_000) return `${Math.round(ms)} ms`;
  const seconds = ms / 1_000;
  return `${seconds.toFixed(seconds < 10 ? 2 : 1).replace(/\.?0+$/, '')} s`;
}

/** For check results without a detail. */
const CAUSES = {
  TIMEOUT: 'Timed out',
  DNS_ERROR: 'Host not found',
  CONNECTION_REFUSED: 'Connection refused',
  UNKNOWN_ERROR: 'Failed without a recorded cause',
} satisfies Record<Exclude<ErrorReason, `HTTP_${number}`>, string>;

/** Describes why a check failed, without a final period. @param detail the API's `errorDetail`, preferred because it is more specific */
export function describeCause(cause: string | null, detail: string | null): string {
  if (detail !== null && detail !== '') return detail.charAt(0).toUpperCase() + detail.slice(1);
  if (cause === null) return 'No cause recorded';
  const causes: Readonly<Record<string, string>> = CAUSES;
  return causes[cause] ?? cause.replace(/^HTTP_(\d+)$/, 'The status code was $1');
}

/** Formats a number as `2,880`. */
export function formatNumber(value: number): string {
  return NUMBER.format(value);
}

/** Formats as `1 monitor` or `2,880 monitors`. */
export function formatCount(count: number, noun: string): string {
  return `${formatNumber(count)} ${noun}${count === 1 ? '' : 's'}`;
}

/** Formats as `a, b and c`. */
export function joinWords(words: readonly string[]): string {
  return LIST.format(words);
}

/** Formats as `Shop, Blog and 3 more`. */
export function listNames(names: readonly string[], max = 3): string {
  const rest = names.length - max;
  return joinWords(rest > 0 ? [...names.slice(0, max), `${rest} more`] : names);
}
