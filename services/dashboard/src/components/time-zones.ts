import { rawTimeZones } from '@vvo/tzdb';
import { isZone, offsetMs } from './zoned-time.ts';

/** UTC, then the sorted names of the zones that the browser knows, and `others`. */
export function timeZones(...others: readonly string[]): string[] {
  const known = rawTimeZones.map(({ name }) => name).filter(isZone);
  return [...new Set(['UTC', ...[...others, ...known].sort()])];
}

/** Finds zones by name, former name, city, country, abbreviation or offset, best match first. */
export function findTimeZones(zones: readonly string[], search: string, nowMs: number): string[] {
  const minutes = readOffset(search);
  if (minutes !== null) {
    const isMatch = (offset: number): boolean =>
      Number.isInteger(minutes) ? offset === minutes : Math.trunc(offset / 60) === Math.trunc(minutes / 60);
    return zones.filter((zone) => isMatch(offsetMs(nowMs, zone) / 60_000));
  }
  const wanted = toWords(search);
  return zones
    .map((zone) => ({ zone, rank: rankOf(zone, wanted) }))
    .filter(({ rank }) => rank < Infinity)
    .sort((a, b) => a.rank - b.rank)
    .map(({ zone }) => zone);
}

/** Returns 0 for a full name, 1 for a prefix, 2 for the start of a word, 3 for any part, otherwise Infinity. */
function rankOf(zone: string, wanted: string): number {
  const names = namesOf(zone);
  if (names.includes(wanted)) return 0;
  if (names.some((name) => name.startsWith(wanted))) return 1;
  const all = ` ${names.join(' ')}`;
  return all.includes(` ${wanted}`) ? 2 : all.includes(wanted) ? 3 : Infinity;
}

/** The zone and its cities, country, abbreviations and former names. */
function namesOf(zone: string): string[] {
  const known = rawTimeZones.find(({ name }) => name === zone);
  const zones = [zone, ...(zone === 'UTC' ? ['GMT', 'Zulu'] : (known?.group ?? []))];
  const { mainCities = [], countryName = '', alternativeName = '' } = known ?? {};
  const { abbreviation = '', dstAbbreviation = '' } = known ?? {};
  return [
    ...zones.flatMap((name) => [name, name.split('/').at(-1) ?? name]),
    ...mainCities,
    countryName,
    alternativeName,
    abbreviation,
    dstAbbreviation,
  ].map(toWords);
}

function toWords(text: string): string {
  return text
    .trim()
    .toLowerCase()
    .replaceAll(/[_/\s]+/g, ' ');
}

/** Parses `+5:30`, `UTC-3` or `+0530` as minutes. Adds half a minute if there are only hours, which match any minutes. */
function readOffset(text: string): number | null {
  const [, sign, hours, minutes] =
    /^(?:utc|gmt)?\s*([+\-−])\s*(\d{1,2})(?::?(\d{2}))?:?$/i.exec(text.trim()) ?? [];
  if (sign === undefined) return null;
  const total = Number(hours) * 60 + (minutes === undefined ? 0.5 : Number(minutes));
  return sign === '+' ? total : -total;
}

/** Formats the offset of a zone as `UTC`, `UTC+5:30` or `UTC−3`. */
export function formatOffset(zone: string, epochMs: number): string {
  const minutes = Math.round(offsetMs(epochMs, zone) / 60_000);
  if (minutes === 0) return 'UTC';
  const rest = Math.abs(minutes) % 60;
  const text = `${Math.floor(Math.abs(minutes) / 60)}${rest === 0 ? '' : `:${String(rest).padStart(2, '0')}`}`;
  return `UTC${minutes > 0 ? '+' : '−'}${text}`;
}
