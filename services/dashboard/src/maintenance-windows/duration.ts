const MINUTE_MS = 60_000;
/** More is a slip of the finger, and no date may be so far. */
const MOST_MINUTES = 366 * 1_440;
const UNITS: Readonly<Record<string, number>> = { d: 1_440, h: 60, m: 1 };
const PART = /(\d+(?:[.,]\d+)?)\s*(d|h|m)[a-z]*/gi;

/** A span in full, as `1 d 2 h 30 min`; what is below a minute is left out. */
export function formatDuration(ms: number): string {
  const minutes = Math.floor(ms / MINUTE_MS);
  const parts = [
    [Math.floor(minutes / 1_440), 'd'],
    [Math.floor(minutes / 60) % 24, 'h'],
    [minutes % 60, 'min'],
  ] as const;
  return (
    parts
      .filter(([count]) => count > 0)
      .map(([count, unit]) => `${count} ${unit}`)
      .join(' ') || '0 min'
  );
}

/** Reads `90 min`, `1.5 h`, `2h30`, `1 d 2 h` or a number of minutes, in ms; null where it is none of these. */
export function parseDuration(text: string): number | null {
  const parts = [...text.matchAll(PART)];
  const rest = text.replaceAll(PART, '').trim();
  const minutes = parts.reduce(
    (sum, [, count = '', unit = '']) =>
      sum + Number(count.replace(',', '.')) * (UNITS[unit.toLowerCase()] ?? 0),
    0,
  );
  if (rest !== '' && !/^\d+$/.test(rest)) return null;
  const total = Math.round(minutes + Number(rest));
  return total > 0 && total <= MOST_MINUTES ? total * MINUTE_MS : null;
}
