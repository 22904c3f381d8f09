/**
 * Local times are in milliseconds as if they were UTC. While the clocks of a zone go back, they show a local time twice; while they go
 * forward, they skip some.
 */

const DAY_MS = 24 * 3_600_000;
const STEP_MS = DAY_MS / 2;

/** The local time at a moment in epoch milliseconds. */
export function toLocal(epochMs: number, zone: string): number {
  return epochMs + offsetMs(epochMs, zone);
}

/** The first moment at which the clocks show this local time or, if they skip it, a later one. In epoch milliseconds. */
export function firstMomentAt(local: number, zone: string): number {
  if (zone === 'UTC') return local;
  // No zone changes its clocks twice within two days.
  const [before, after] = [offsetMs(local - DAY_MS, zone), offsetMs(local + DAY_MS, zone)];
  const [earlier, later] = [local - Math.max(before, after), local - Math.min(before, after)];
  if (toLocal(earlier, zone) === local) return earlier;
  if (toLocal(later, zone) === local) return later;
  return firstWith(after, zone, earlier, later);
}

interface Transition {
  /** The first moment after the change, in epoch milliseconds. */
  readonly at: number;
  /** Offsets from UTC in milliseconds. */
  readonly before: number;
  readonly after: number;
}

/** When the clocks of a zone change between two moments, in order. */
export function transitions(zone: string, from: number, until: number): Transition[] {
  const found: Transition[] = [];
  for (let year = yearOf(from); year <= yearOf(until); year += 1) found.push(...transitionsIn(year, zone));
  return found.filter(({ at }) => at > from && at <= until);
}

function yearOf(epochMs: number): number {
  return new Date(epochMs).getUTCFullYear();
}

const years = new Map<string, readonly Transition[]>();
/** At most this many years of zones are kept. */
const MAX_YEARS = 1_200;

function transitionsIn(year: number, zone: string): readonly Transition[] {
  const key = `${year} ${zone}`;
  const known = years.get(key);
  if (known !== undefined) return known;
  const [from, until] = [Date.UTC(year), Date.UTC(year + 1)];
  const found: Transition[] = [];
  let before = offsetMs(from, zone);
  for (let time = from; time < until; time += STEP_MS) {
    const next = time + STEP_MS;
    const after = offsetMs(next, zone);
    if (after !== before) found.push({ at: firstWith(after, zone, time, next), before, after });
    before = after;
  }
  if (years.size < MAX_YEARS) years.set(key, found);
  return found;
}

/** The first moment with an offset, to the millisecond. It has another one at `low`, and this one at `high`. */
function firstWith(offset: number, zone: string, low: number, high: number): number {
  if (high - low <= 1) return high;
  const middle = Math.floor((low + high) / 2);
  return offsetMs(middle, zone) === offset
    ? firstWith(offset, zone, low, middle)
    : firstWith(offset, zone, middle, high);
}

const clocks = new Map<string, Intl.DateTimeFormat>();
/** At most this many formats are kept. */
const MAX_CLOCKS = 600;

/** The offset of a zone from UTC at a moment, in milliseconds. */
function offsetMs(epochMs: number, zone: string): number {
  if (zone === 'UTC') return 0;
  let clock = clocks.get(zone);
  // The Swedish format is close to ISO 8601: `2026-03-01 12:00:00`.
  clock ??= new Intl.DateTimeFormat('sv', { timeZone: zone, dateStyle: 'short', timeStyle: 'medium' });
  if (clocks.size < MAX_CLOCKS) clocks.set(zone, clock);
  return Date.parse(`${clock.format(epochMs).replace(' ', 'T')}Z`) - Math.floor(epochMs / 1_000) * 1_000;
}
