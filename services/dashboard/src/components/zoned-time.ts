const LOCAL_TEXT = /^(\d{4})-(\d{2})-(\d{2})T(\d{2}):(\d{2})(?::(\d{2})(?:\.(\d{1,3}))?)?$/;
const DAY_MS = 24 * 3_600_000;
const clocks = new Map<string, Intl.DateTimeFormat>();

/** The reader's own time zone, as the IANA database names it. */
export function readerZone(): string {
  return new Intl.DateTimeFormat().resolvedOptions().timeZone;
}

/** Every time zone that can be chosen, and those given, by name. */
export function timeZones(...others: readonly string[]): string[] {
  return [...new Set(['UTC', ...others, ...Intl.supportedValuesOf('timeZone')])].sort();
}

/** How far the zone's clocks are ahead of UTC at a moment. */
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

/** What the clocks of a zone show, as an input of type `datetime-local` has it: `2026-03-01T12:00`, with seconds where there are. */
export function toLocal(epochMs: number, zone: string): string {
  const text = new Date(epochMs + offsetMs(epochMs, zone)).toISOString().slice(0, -1);
  return text.replace(/\.000$/, '').replace(/(T\d{2}:\d{2}):00$/, '$1');
}

interface LocalReading {
  /** Null where the zone's clocks never show this time: they go forward then. */
  readonly epochMs: number | null;
  /** The clocks show it twice; `epochMs` is the first. */
  readonly twice: boolean;
}

/** When the clocks of a zone show this; null where the text is no date and time. */
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

/** The same, as an ISO 8601 timestamp; null where there is no such moment. */
export function localToIso(text: string, zone: string): string | null {
  const epochMs = fromLocal(text, zone)?.epochMs;
  return epochMs === undefined || epochMs === null ? null : new Date(epochMs).toISOString();
}

function wallMs(text: string): number | null {
  const [, year, month, day, hour, minute, second = '00', fraction = ''] = LOCAL_TEXT.exec(text) ?? [];
  if (minute === undefined) return null;
  const iso = `${year}-${month}-${day}T${hour}:${minute}:${second}.${fraction.padEnd(3, '0')}Z`;
  const wall = Date.parse(iso);
  // A day that does not exist must not roll over into the next month.
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
