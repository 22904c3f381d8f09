import { offsetMs } from './zoned-time.ts';

/** Former names, which some browsers still list, with their replacements. */
const RENAMED: Readonly<Record<string, string>> = {
  'Africa/Asmera': 'Africa/Asmara',
  'America/Buenos_Aires': 'America/Argentina/Buenos_Aires',
  'America/Catamarca': 'America/Argentina/Catamarca',
  'America/Coral_Harbour': 'America/Atikokan',
  'America/Cordoba': 'America/Argentina/Cordoba',
  'America/Godthab': 'America/Nuuk',
  'America/Indianapolis': 'America/Indiana/Indianapolis',
  'America/Jujuy': 'America/Argentina/Jujuy',
  'America/Louisville': 'America/Kentucky/Louisville',
  'America/Mendoza': 'America/Argentina/Mendoza',
  'Asia/Calcutta': 'Asia/Kolkata',
  'Asia/Katmandu': 'Asia/Kathmandu',
  'Asia/Rangoon': 'Asia/Yangon',
  'Asia/Saigon': 'Asia/Ho_Chi_Minh',
  'Atlantic/Faeroe': 'Atlantic/Faroe',
  'Europe/Kiev': 'Europe/Kyiv',
  'Pacific/Enderbury': 'Pacific/Kanton',
  'Pacific/Ponape': 'Pacific/Pohnpei',
  'Pacific/Truk': 'Pacific/Chuuk',
};

/** Countries, cities and abbreviations that users search for, by zone. */
const ALIASES: Readonly<Record<string, string>> = {
  UTC: 'GMT, Zulu, universal',
  'Africa/Cairo': 'Egypt',
  'Africa/Casablanca': 'Morocco, Rabat',
  'Africa/Johannesburg': 'South Africa, Cape Town, Pretoria, Durban',
  'Africa/Lagos': 'Nigeria, Abuja',
  'Africa/Nairobi': 'Kenya',
  'America/Argentina/Buenos_Aires': 'Argentina',
  'America/Bogota': 'Colombia',
  'America/Chicago': 'Central time, CST, CDT, Dallas, Houston, Austin',
  'America/Denver': 'Mountain time, MST, MDT, Salt Lake City',
  'America/Halifax': 'Atlantic time, AST, ADT',
  'America/Los_Angeles': 'Pacific time, PST, PDT, San Francisco, Seattle, San Diego, Portland, Las Vegas',
  'America/Mexico_City': 'Mexico, Guadalajara',
  'America/New_York': 'Eastern time, EST, EDT, Boston, Washington, Miami, Atlanta, Philadelphia',
  'America/Santiago': 'Chile',
  'America/Sao_Paulo': 'Brazil, Brasilia, Rio de Janeiro',
  'America/Toronto': 'Canada, Ottawa, Montreal',
  'Asia/Bangkok': 'Thailand',
  'Asia/Dubai': 'United Arab Emirates, Abu Dhabi',
  'Asia/Ho_Chi_Minh': 'Vietnam, Hanoi',
  'Asia/Hong_Kong': 'HKT',
  'Asia/Jakarta': 'Indonesia',
  'Asia/Jerusalem': 'Israel, Tel Aviv',
  'Asia/Karachi': 'Pakistan, Lahore, Islamabad',
  'Asia/Kathmandu': 'Nepal',
  'Asia/Kolkata': 'India, IST, Mumbai, Bombay, Delhi, Bangalore, Bengaluru, Chennai, Hyderabad, Pune',
  'Asia/Kuala_Lumpur': 'Malaysia',
  'Asia/Manila': 'Philippines',
  'Asia/Riyadh': 'Saudi Arabia',
  'Asia/Seoul': 'Korea, KST',
  'Asia/Shanghai': 'China, Beijing, Shenzhen',
  'Asia/Singapore': 'SGT',
  'Asia/Taipei': 'Taiwan',
  'Asia/Tokyo': 'Japan, JST, Osaka',
  'Australia/Sydney': 'Australia, AEST, AEDT, Canberra',
  'Europe/Amsterdam': 'Netherlands, Rotterdam',
  'Europe/Athens': 'Greece',
  'Europe/Berlin': 'Germany, CET, CEST, Munich, Hamburg, Frankfurt, Cologne',
  'Europe/Brussels': 'Belgium',
  'Europe/Dublin': 'Ireland',
  'Europe/Helsinki': 'Finland',
  'Europe/Istanbul': 'Turkey, Türkiye, Ankara',
  'Europe/Kyiv': 'Ukraine',
  'Europe/Lisbon': 'Portugal',
  'Europe/London': 'United Kingdom, UK, England, Scotland, BST, Manchester, Edinburgh',
  'Europe/Madrid': 'Spain, Barcelona',
  'Europe/Moscow': 'Russia, MSK',
  'Europe/Paris': 'France, Lyon',
  'Europe/Prague': 'Czechia, Brno',
  'Europe/Rome': 'Italy, Milan',
  'Europe/Vienna': 'Austria',
  'Europe/Warsaw': 'Poland, Krakow',
  'Europe/Zurich': 'Switzerland, Geneva, Basel, Bern',
  'Pacific/Auckland': 'New Zealand, Wellington',
};

/** The sorted names of all time zones and `others`. Other former names are omitted. */
export function timeZones(...others: readonly string[]): string[] {
  const current = Intl.supportedValuesOf('timeZone').map((name) => RENAMED[name] ?? name);
  return [...new Set(['UTC', ...others, ...current])].sort();
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

/** The zone and its city, then its other names. */
function namesOf(zone: string): string[] {
  const former = Object.keys(RENAMED).filter((name) => RENAMED[name] === zone);
  const cities = [zone, ...former].flatMap((name) => [name, name.split('/').at(-1) ?? name]);
  return [...cities, ...(ALIASES[zone]?.split(', ') ?? [])].map(toWords);
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
