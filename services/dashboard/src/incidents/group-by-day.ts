import { toLocal } from '../components/zoned-time.ts';

const DAY_MS = 24 * 3_600_000;

/** Groups items by day in a zone, such as `2026-03-01`, and keeps their order. @param timeOf returns ISO 8601 */
export function groupByDay<Item>(
  items: readonly Item[],
  timeOf: (item: Item) => string,
  zone: string,
): ReadonlyMap<string, readonly Item[]> {
  const days = new Map<string, Item[]>();
  for (const item of items) {
    const date = dateOf(Date.parse(timeOf(item)), zone);
    days.set(date, [...(days.get(date) ?? []), item]);
  }
  return days;
}

/** Formats as `Today`, `Yesterday` or the full date, each with the zone of the times below it. */
export function describeDay(date: string, nowMs: number, zone: string, locale?: string): string {
  const today = dateOf(nowMs, zone);
  const midnight = Date.parse(`${date}T00:00Z`);
  const isYesterday = new Date(midnight + DAY_MS).toISOString().startsWith(today);
  const full = new Intl.DateTimeFormat(locale, { dateStyle: 'full', timeZone: 'UTC' });
  return `${date === today ? 'Today' : isYesterday ? 'Yesterday' : full.format(midnight)} (${zone})`;
}

function dateOf(epochMs: number, zone: string): string {
  return toLocal(epochMs, zone).slice(0, 10);
}
