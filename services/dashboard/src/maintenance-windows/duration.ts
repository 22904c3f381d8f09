import { LIMITS } from '@tocsin/contracts/limits';

const MINUTE_MS = 60_000;
const UNITS_MS: Readonly<Record<string, number>> = {
  d: 86_400_000,
  h: 3_600_000,
  m: MINUTE_MS,
  s: 1_000,
};
const NUMBER = String.raw`\d+(?:[.,]\d+)?`;
const UNIT = 'd(?:ays?)?|h(?:(?:ou)?rs?)?|m(?:in(?:ute)?s?)?|s(?:ec(?:ond)?s?)?';
const PART = new RegExp(`(${NUMBER})\\s*(${UNIT})(?![a-z])`, 'gi');
const CLOCK = /^(\d{1,3}):([0-5]\d)$/;
export const DURATION_EXAMPLES = '90 min, 1:30, 2 h or 1 d 4 h';
const MAX_MS = LIMITS.maintenanceDays * 86_400_000;

/** Exactly one field is null. */
interface DurationReading {
  readonly durationMs: number | null;
  /** Says what is wrong and how to fix it. */
  readonly error: string | null;
}

/** Parses `90 min`, `1.5 h`, `2h30`, `1 d 2 h`, `1:30` (hours and minutes) or a number of minutes. */
export function parseDuration(text: string): DurationReading {
  const milliseconds = readMilliseconds(text.trim());
  if (milliseconds === null) return failure(`Enter a duration, such as ${DURATION_EXAMPLES}.`);
  if (milliseconds < MINUTE_MS) return failure('Must be at least 1 minute.');
  if (milliseconds > MAX_MS) return failure(`Must be at most ${LIMITS.maintenanceDays} days.`);
  return { durationMs: Math.round(milliseconds), error: null };
}

function failure(error: string): DurationReading {
  return { durationMs: null, error };
}

/** Null if the text is not a duration. */
function readMilliseconds(text: string): number | null {
  const [, hours, minutes] = CLOCK.exec(text) ?? [];
  if (minutes !== undefined) return (Number(hours) * 60 + Number(minutes)) * MINUTE_MS;
  let sum = 0;
  const rest = text.replaceAll(PART, (_, count: string, unit: string) => {
    sum += toNumber(count) * (UNITS_MS[unit.charAt(0).toLowerCase()] ?? 0);
    return '';
  });
  if (text === '') return null;
  // A number without a unit counts minutes.
  return new RegExp(`^\\s*(${NUMBER})?\\s*$`).test(rest) ? sum + toNumber(rest) * MINUTE_MS : null;
}

function toNumber(text: string): number {
  return Number(text.replace(',', '.'));
}
