const LOCAL_TEXT = /^(\d{4})-(\d{2})-(\d{2})T(\d{2}):(\d{2})(?::(\d{2})(?:\.(\d{1,3}))?)?$/;
const DAY_MS = 24 * 3_600_000;
const clocks = new Map<string, Intl.DateTimeFormat>();

/** The reader's time zone, as an IANA name. */
export function readerZone(): string {
  return new Intl.DateTimeFormat().resolvedOptions().timeZone;
}

/** The names of all time zones, and of those given, sorted. */
export function timeZones(...others: readonly string[]): string[] {
  return [...new Set(['UTC', ...others, ...Intl.supportedValuesOf('timeZone')])].sort();
}

/** The offset of a time zone from UTC at a moment, in milliseconds. */
export function offsetMs(epochMs: number, zone: string): number {
  const parts = clockOf(zone).formatToParts(epochMs);
  const part = (type: Intl.DateTimeFormatPartTypes): number =>
    Number(parts.find((one) => one.type === type)?.value);
  const wall = Date.UTC(
    part('year'),
    part('month') - 1,
    part('day'),
    part('hour'),
    part('minute'),
    part('second'),
  );
  return wall - Math.floor(epochMs / 1_000) * 1_000;
}

/** Formats a moment as local time for a `datetime-local` input: `2026-03-01T12:00`, with seconds unless they are zero. */
export function toLocal(epochMs: number, zone: string): string {
  const text = new Date(epochMs + offsetMs(epochMs, zone)).toISOString().slice(0, -1);
  return text.replace(/\.000$/, '').replace(/(T\d{2}:\d{2}):00$/, '$1');
}

interface LocalReading {
  /** Null if the time does not exist, because the clocks go forward. */
  readonly epochMs: number | null;
  /** Whether the time occurs twice, because the clocks go back. `epochMs` is the first occurrence. */
  readonly twice: boolean;
}

/** Parses a local time in a time zone. Returns null if the text is no date and time. */
export function fromLocal(text: string, zone: string): LocalReading | null {
  const wall = wallMs(text);
  if (wall === null) return null;
  const offsets = new Set([offsetMs(wall - DAY_MS, zone), offsetMs(wall + DAY_MS, zone)]);
  const moments = [...offsets]
    .map((offset) => wall - offset)
    .filter((moment) => moment + offsetMs(moment, zone) === wall)
    .sort((a, b) => a - b);
  return { epochMs: moments[0] ?? null, twice: moments.length > 1 };
}

/** Converts a local time to an ISO 8601 timestamp. Returns null if there is no such moment. */
export function localToIso(text: string, zone: string): string | null {
  const epochMs = fromLocal(text, zone)?.epochMs;
  return epochMs === undefined || epochMs === null ? null : new Date(epochMs).toISOString();
}

function wallMs(text: string): number | null {
  const [, year, month, day, hour, minute, second = '00', fraction = ''] = LOCAL_TEXT.exec(text) ?? [];
  if (minute === undefined) return null;
  const iso = `${year}-${month}-${day}T${hour}:${minute}:${second}.${fraction.padEnd(3, '0')}Z`;
  const wall = Date.parse(iso);
  // An invalid day must not roll over into the next month.
  return Number.isNaN(wall) || new Date(wall).toISOString() !== iso ? null : wall;
}

function clockOf(zone: string): Intl.DateTimeFormat {
  const known = clocks.get(zone);
  if (known !== undefined) return known;
  const clock = new Intl.DateTimeFormat('en', {
    timeZone: zone,
    hourCycle: 'h23',
    year: 'numeric',
    month: 'numeric',
    day: 'numeric',
    hour: 'numeric',
    minute: 'numeric',
    second: 'numeric',
  });
  clocks.set(zone, clock);
  return clock;
}
