const DAY_MS = 24 * 3_600_000;
const clocks = new Map<string, Intl.DateTimeFormat>();

/** The browser's time zone as an IANA name. */
export function readerZone(): string {
  return new Intl.DateTimeFormat().resolvedOptions().timeZone;
}

/** The offset of a time zone from UTC in milliseconds. */
export function offsetMs(epochMs: number, zone: string): number {
  let clock = clocks.get(zone);
  // The Swedish format is close to ISO 8601: `2026-03-01 12:00:00`.
  clock ??= new Intl.DateTimeFormat('sv', { timeZone: zone, dateStyle: 'short', timeStyle: 'medium' });
  clocks.set(zone, clock);
  return Date.parse(`${clock.format(epochMs).replace(' ', 'T')}Z`) - Math.floor(epochMs / 1_000) * 1_000;
}

/** True if the browser knows a time zone. */
export function isZone(zone: string): boolean {
  try {
    offsetMs(0, zone);
    return true;
  } catch {
    return false;
  }
}

/** Formats as `2026-03-01T12:00` for a `datetime-local` input, with seconds unless they are zero. */
export function toLocal(epochMs: number, zone: string): string {
  const text = new Date(epochMs + offsetMs(epochMs, zone)).toISOString().slice(0, -1);
  return text.replace(/\.000$/, '').replace(/(T\d{2}:\d{2}):00$/, '$1');
}

/**
 * Epoch milliseconds at which the clocks of a zone show a local time. Empty if the clocks skip it, two values if it is repeated.
 * Null if the text is not a date and time.
 */
export function momentsAt(text: string, zone: string): readonly number[] | null {
  const wall = wallMs(text);
  if (wall === null) return null;
  const offsets = new Set([offsetMs(wall - DAY_MS, zone), offsetMs(wall + DAY_MS, zone)]);
  return [...offsets]
    .map((offset) => wall - offset)
    .filter((moment) => moment + offsetMs(moment, zone) === wall)
    .sort((a, b) => a - b);
}

/** The first occurrence of a local time as an ISO 8601 timestamp, or null if there is none. */
export function localToIso(text: string, zone: string): string | null {
  const [moment] = momentsAt(text, zone) ?? [];
  return moment === undefined ? null : new Date(moment).toISOString();
}

/** A local time read as UTC, or null if the text is not a date and time. */
function wallMs(text: string): number | null {
  const wall = Date.parse(`${text}Z`);
  if (Number.isNaN(wall) || text.length < '2026-03-01T12:00'.length) return null;
  // An invalid day must not roll over into the next month.
  return new Date(wall).toISOString().startsWith(text) ? wall : null;
}
