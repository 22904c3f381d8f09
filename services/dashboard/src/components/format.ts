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

/** Date and time in the reader's zone and language. */
export function formatLocal(date: Date): string {
  return LOCAL.format(date);
}

/** The time of day in the reader's zone and language; with the day where that is not the day of `nowMs`. */
export function formatClock(date: Date, nowMs: number): string {
  const today = date.toDateString() === new Date(nowMs).toDateString();
  return today ? CLOCK.format(date) : `${DAY.format(date)}, ${CLOCK.format(date)}`;
}

/** As `2026-03-01 12:00:00 UTC`. */
export function formatUtc(date: Date): string {
  return `${date.toISOString().slice(0, 19).replace('T', ' ')} UTC`;
}

/** As `2026-03-01 12:00 to 13:00 UTC`; the second day too where it is another. */
export function formatUtcSpan(from: Date, to: Date): string {
  const [start, end] = [from, to].map((date) => date.toISOString().slice(0, 16).replace('T', ' '));
  const day = start?.slice(0, 11) ?? '';
  return `${start} to ${end?.startsWith(day) === true ? end.slice(day.length) : end} UTC`;
}

/** The two largest units of a span, as `2 d 4 h`; below a second `0 s`. */
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

/** How long ago `date` was, as `5 min ago`; what is to come is `in 5 min`. */
export function formatAgo(date: Date, nowMs: number): string {
  const seconds = (nowMs - date.getTime()) / 1_000;
  if (Math.abs(seconds) < 10) return 'just now';
  const [largest = ''] = formatSpan(Math.abs(seconds)).match(/^\d+ \w+/) ?? [];
  return seconds > 0 ? `${largest} ago` : `in ${largest}`;
}

/** As `74 ms`, `2.35 s` or `12.5 s`. */
export function formatLatency(ms: number): string {
  if (ms < 1_000) return `${Math.round(ms)} ms`;
  const seconds = ms / 1_000;
  return `${seconds.toFixed(seconds < 10 ? 2 : 1).replace(/\.?0+$/, '')} s`;
}

const WORDS: Readonly<Record<Exclude<ErrorReason, `HTTP_${number}`>, string>> = {
  TIMEOUT: 'No answer in time',
  DNS_ERROR: 'Name not found',
  CONNECTION_REFUSED: 'Connection refused',
  UNKNOWN_ERROR: 'Check failed',
};

/** Why a check failed or a monitor went down, in words; the code of the API where there are none. */
export function describeCause(cause: string | null): string {
  if (cause === null) return 'Cause not known';
  const words: Readonly<Record<string, string>> = WORDS;
  return words[cause] ?? cause.replace(/^HTTP_(\d+)$/, 'Answered $1');
}
