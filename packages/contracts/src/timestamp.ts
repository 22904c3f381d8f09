const ISO_8601 = /^(\d{4}-\d{2}-\d{2})T(\d{2}:\d{2})(?::(\d{2})(?:[.,](\d+))?)?(Z|[+-]\d{2}(?::?\d{2})?)$/i;

const EARLIEST = Date.parse('0001-01-01T00:00:00Z');
const LATEST = Date.parse('9999-12-31T23:59:59.999Z');

/**
 * Reads an ISO 8601 timestamp with any offset. Digits beyond milliseconds are truncated, so a cursor never moves
 * past an event. Null where the text is no such timestamp, names a day or time that does not exist, or lies in UTC outside
 * the years 1 to 9999, which not all that reads timestamps can write.
 */
export function parseTimestamp(text: string): Date | null {
  const match = ISO_8601.exec(text);
  if (match === null) return null;
  const [, day = '', minute = '', second = '00', fraction = '', offset = ''] = match;
  const local = `${day}T${minute}:${second}.${fraction.slice(0, 3).padEnd(3, '0')}`;
  const shift = offsetMinutes(offset);
  const wallClock = Date.parse(`${local}Z`);
  if (shift === null || Number.isNaN(wallClock)) return null;
  // V8 rolls 30 February over into March: only a day that reads back as written exists.
  if (new Date(wallClock).toISOString() !== `${local}Z`) return null;
  const instant = wallClock - shift * 60_000;
  return instant < EARLIEST || instant > LATEST ? null : new Date(instant);
}

function offsetMinutes(offset: string): number | null {
  if (offset.toUpperCase() === 'Z') return 0;
  const digits = offset.replaceAll(/\D/g, '').padEnd(4, '0');
  const [hours, minutes] = [Number(digits.slice(0, 2)), Number(digits.slice(2))];
  if (hours > 23 || minutes > 59) return null;
  return (offset.startsWith('-') ? -1 : 1) * (hours * 60 + minutes);
}
