import type { ErrorReason } from '@tocsin/contracts/vocabulary';

const LOCAL = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'medium' });
const CLOCK = new Intl.DateTimeFormat(undefined, { timeStyle: 'medium' });
const DAY = new Intl.DateTimeFormat(undefined, { day: 'numeric', month: 'short' });
const UNITS = [
  ['d', 86_400],
  ['h', 3_600],
  ['min', 60],
  ['s', 1],
] as const;

/** Formats date and time in the reader's time zone and locale. */
export function formatLocal(date: Date): string {
  return LOCAL.format(date);
}

/** Formats the time of day in the reader's time zone and locale, with the date unless it is the date of `nowMs`. */
export function formatClock(date: Date, nowMs: number): string {
  const today = date.toDateString() === new Date(nowMs).toDateString();
  return today ? CLOCK.format(date) : `${DAY.format(date)}, ${CLOCK.format(date)}`;
}

/** Formats as `2026-03-01 12:00:00 UTC`. */
export function formatUtc(date: Date): string {
  return `${date.toISOString().slice(0, 19).replace('T', ' ')} UTC`;
}

/** Formats as `2026-03-01 12:00 to 13:00 UTC`. The end has a date only if it differs. */
export function formatUtcSpan(from: Date, to: Date): string {
  const [start, end] = [from, to].map((date) => date.toISOString().slice(0, 16).replace('T', ' '));
  const day = start?.slice(0, 11) ?? '';
  return `${start} to ${end?.startsWith(day) === true ? end.slice(day.length) : end} UTC`;
}

/** Formats the two largest units of a duration, as `2 d 4 h`. Less than a second is `0 s`. */
export function formatSpan(seconds: number): string {
  let rest = Math.max(0, Math.floor(seconds));
  const parts: string[] = [];
  for (const [unit, size] of UNITS) {
    const count = Math.floor(rest / size);
    rest -= count * size;
    if (count > 0) parts.push(`${count} ${unit}`);
    else if (parts.length > 0) break;
    if (parts.length === 2) break;
  }
  return parts.join(' ') || '0 s';
}

/** Formats a time relative to `nowMs`, as `5 min ago` or `in 5 min`. */
export function formatAgo(date: Date, nowMs: number): string {
  const seconds = (nowMs - date.getTime()) / 1_000;
  if (Math.abs(seconds) < 10) return 'just now';
  const [largest = ''] = formatSpan(Math.abs(seconds)).match(/^\d+ \w+/) ?? [];
  return seconds > 0 ? `${largest} ago` : `in ${largest}`;
}

/** Formats as `74 ms`, `2.35 s` or `12.5 s`. */
export function formatLatency(ms: number): string {
  if (ms < 1_000) return `${Math.round(ms)} ms`;
  const seconds = ms / 1_000;
  return `${seconds.toFixed(seconds < 10 ? 2 : 1).replace(/\.?0+$/, '')} s`;
}

const CAUSES = {
  TIMEOUT: 'Timed out',
  DNS_ERROR: 'Host not found',
  CONNECTION_REFUSED: 'Connection refused',
  UNKNOWN_ERROR: 'Check failed',
} satisfies Record<Exclude<ErrorReason, `HTTP_${number}`>, string>;

/** Describes why a check failed. An unknown reason is shown as the code of the API. */
export function describeCause(cause: string | null): string {
  if (cause === null) return 'Unknown cause';
  const causes: Readonly<Record<string, string>> = CAUSES;
  return causes[cause] ?? cause.replace(/^HTTP_(\d+)$/, 'HTTP $1');
}
