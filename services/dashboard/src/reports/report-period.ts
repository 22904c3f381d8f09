import { z } from 'zod';
import { isZone, momentsAt, offsetMs, readerZone, toLocal } from '../components/zoned-time.ts';
import { readSelector } from '../labels/selector-text.ts';
import { textParameter } from '../monitors/monitors-search.ts';

const DAY_MS = 24 * 3_600_000;

/** First and last day of a period, such as `2026-03-01`. */
export interface Days {
  readonly from: string;
  readonly to: string;
}

const PRESETS = {
  'this-month': { label: 'This month', months: 1, back: 0 },
  'last-month': { label: 'Last month', months: 1, back: 1 },
  'this-quarter': { label: 'This quarter', months: 3, back: 0 },
  'last-quarter': { label: 'Last quarter', months: 3, back: 1 },
} as const;
export type Preset = keyof typeof PRESETS;

export const PRESET_CHOICES: { readonly value: Preset; readonly label: string }[] = (
  Object.keys(PRESETS) as Preset[]
).map((value) => ({ value, label: PRESETS[value].label }));

const day = z.iso.date().optional().catch(undefined);

/** Search parameters of the report. Days and zone are explicit, so that a link shows the same period to everyone. */
export const reportSearchSchema = z.object({
  from: day,
  to: day,
  /** IANA name. */
  zone: z.string().refine(isZone).optional().catch(undefined),
  groupBy: textParameter,
  selector: textParameter,
  maintenance: z.literal('included').optional().catch(undefined),
  sort: textParameter,
  order: z.literal('best').optional().catch(undefined),
});
export type ReportSearch = z.infer<typeof reportSearchSchema>;
/** A search with a period. */
export type FullSearch = ReportSearch & Days & { readonly zone: string };

export type SearchErrors = Readonly<Partial<Record<'from' | 'to' | 'selector', string>>>;

/** Finds errors that need no request. */
export function findSearchErrors({ from, to, zone, selector = '' }: FullSearch, nowMs: number): SearchErrors {
  const { error } = readSelector(selector);
  const isFuture = from > toLocal(nowMs, zone).slice(0, 10);
  return {
    ...(isFuture && { from: 'Choose a day in the past.' }),
    ...(!isFuture && to < from && { to: 'Choose the first day or a later one.' }),
    ...(error !== null && { selector: error }),
  };
}

/** True for a day since 2000. While a year is typed, the field has years such as 0020. */
export function isWholeDay(text: string): boolean {
  return z.iso.date().safeParse(text).success && text >= '2000';
}

/**
 * Adds the last month in the user's time zone, or this month if there are no monitors from before it. Null if the search already has a period.
 * @param oldest id of the oldest monitor, which begins with the time of its creation (UUIDv7)
 */
export function withPeriod(
  search: ReportSearch,
  nowMs: number,
  oldest: string | undefined,
): FullSearch | null {
  const { from, to, zone = readerZone() } = search;
  if (from !== undefined && to !== undefined && search.zone !== undefined) return null;
  if (from !== undefined && to !== undefined) return { ...search, from, to, zone };
  const createdMs = oldest === undefined ? nowMs : Number(`0x${oldest.replace('-', '').slice(0, 12)}`);
  const thisMonth = presetDays('this-month', nowMs, zone);
  const isNew = toLocal(createdMs, zone) >= thisMonth.from;
  return { ...search, ...(isNew ? thisMonth : presetDays('last-month', nowMs, zone)), zone };
}

/** Days of a calendar month or quarter in a zone. */
export function presetDays(preset: Preset, nowMs: number, zone: string): Days {
  const { months, back } = PRESETS[preset];
  const [year = 0, month = 1] = toLocal(nowMs, zone).split('-').map(Number);
  const first = Math.floor((month - 1) / months) * months - back * months;
  const dayOf = (monthIndex: number, date: number): string =>
    new Date(Date.UTC(year, monthIndex, date)).toISOString().slice(0, 10);
  return { from: dayOf(first, 1), to: dayOf(first + months, 0) };
}

/** Returns the preset that currently has these days, or null. */
export function presetOf({ from, to }: Days, nowMs: number, zone: string): Preset | null {
  const found = PRESET_CHOICES.find(({ value }) => {
    const days = presetDays(value, nowMs, zone);
    return days.from === from && days.to === to;
  });
  return found?.value ?? null;
}

/** Start and exclusive end of a period as ISO 8601. */
export function toInstants({ from, to }: Days, zone: string): Days {
  const after = new Date(Date.parse(to) + DAY_MS).toISOString().slice(0, 10);
  return { from: startOfDay(from, zone), to: startOfDay(after, zone) };
}

/** If the clocks skip midnight, the day starts right after the gap. */
function startOfDay(date: string, zone: string): string {
  const midnight = Date.parse(`${date}T00:00Z`);
  const [moment] = momentsAt(`${date}T00:00`, zone) ?? [];
  return new Date(moment ?? midnight - offsetMs(midnight - DAY_MS, zone)).toISOString();
}

/** Formats as `1 – 31 October 2026`, in the reader's locale. */
export function formatDays({ from, to }: Days, locale?: string): string {
  const format = new Intl.DateTimeFormat(locale, { dateStyle: 'long', timeZone: 'UTC' });
  return format.formatRange(Date.parse(from), Date.parse(to));
}
