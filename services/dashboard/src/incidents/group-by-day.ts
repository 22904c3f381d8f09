import { toLocal } from '../components/zoned-time.ts';

/** What happened on one day. */
export interface Day<Item> {
  /** As `2026-03-01`. */
  readonly date: string;
  readonly items: readonly Item[];
}

/** Items by the day on which they happened in a zone; the order stays as it is. @param timeOf ISO 8601 */
export function groupByDay<Item>(
  items: readonly Item[],
  timeOf: (item: Item) => string,
  zone: string,
): Day<Item>[] {
  const days = new Map<string, Item[]>();
  for (const item of items) {
    const date = dateOf(Date.parse(timeOf(item)), zone);
    const day = days.get(date);
    if (day === undefined) days.set(date, [item]);
    else day.push(item);
  }
  return [...days].map(([date, ofDay]) => ({ date, items: ofDay }));
}

/** As `Today`, `Yesterday`, and before these the date in full. */
export function describeDay(date: string, nowMs: number, zone: string, locale?: string): string {
  if (date === dateOf(nowMs, zone)) return 'Today';
  if (date === dateBefore(dateOf(nowMs, zone))) return 'Yesterday';
  return new Intl.DateTimeFormat(locale, { dateStyle: 'full', timeZone: 'UTC' }).format(
    new Date(`${date}T00:00Z`),
  );
}

function dateOf(epochMs: number, zone: string): string {
  return toLocal(epochMs, zone).slice(0, 10);
}

function dateBefore(date: string): string {
  return new Date(Date.parse(`${date}T00:00Z`) - 24 * 3_600_000).toISOString().slice(0, 10);
}
