/** Local times are milliseconds as if the zone were UTC. Clocks that go back repeat local times, and clocks that go forward skip some. */

const DAY_MS = 24 * 3_600_000;
const STEP_MS = DAY_MS / 2;

export function toLocal(epochMs: number, zone: string): number {
  return epochMs + offsetMs(epochMs, zone);
}

/** Returns the first moment (epoch milliseconds) with this local time. If the clocks skip it, returns the moment of the change. */
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
  /** First moment after the change, in epoch milliseconds. */
  readonly at: number;
  /** UTC offsets in milliseconds. */
  readonly before: number;
  readonly after: number;
}

/** Lists the clock changes of a zone in (from, until], in order. */
export function transitions(zone: string, from: number, until: number): Transition[] {
  const found: Transition[] = [];
  for (let year = yearOf(from); year <= yearOf(until); year += 1) found.push(...transitionsIn(year, zone));
  return found.filter(({ at }) => at > from && at <= until);
}

function yearOf(epochMs: number): number {
  return new Date(epochMs).getUTCFullYear();
}

const years = new Map<string, readonly Transition[]>();
/** Maximum cache entries. Each year in a zone is one entry. */
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

/** Finds the first moment with an offset by bisection. `low` has another offset, and `high` has this one. */
function firstWith(offset: number, zone: string, low: number, high: number): number {
  if (high - low <= 1) return high;
  const middle = Math.floor((low + high) / 2);
  return offsetMs(middle, zone) === offset
    ? firstWith(offset, zone, low, middle)
    : firstWith(offset, zone, middle, high);
}

const clocks = new Map<string, Intl.DateTimeFormat>();
const MAX_CLOCKS = 600;

function offsetMs(epochMs: number, zone: string): number {
  if (zone === 'UTC') return 0;
  let clock = clocks.get(zone);
  // The Swedish format is close to ISO 8601: `2026-03-01 12:00:00`.
  clock ??= new Intl.DateTimeFormat('sv', { timeZone: zone, dateStyle: 'short', timeStyle: 'medium' });
  if (clocks.size < MAX_CLOCKS) clocks.set(zone, clock);
  return Date.parse(`${clock.format(epochMs).replace(' ', 'T')}Z`) - Math.floor(epochMs / 1_000) * 1_000;
}
