import type { MonitorOverview } from '@tocsin/contracts/monitors/overview';

/** Whether a text has every word of a search, ignoring case. An empty search matches every text. */
export function matchesSearch(text: string, search: string): boolean {
  const lower = text.toLowerCase();
  return search
    .toLowerCase()
    .split(/\s+/)
    .every((word) => lower.includes(word));
}

/** The monitors whose name or URL matches the search. */
export function filterMonitors<Choice extends Pick<MonitorOverview, 'name' | 'url'>>(
  monitors: readonly Choice[],
  search: string,
): readonly Choice[] {
  return monitors.filter(({ name, url }) => matchesSearch(`${name} ${url}`, search));
}

/** Sorts by name, with the monitors of `first` before the others. */
export function sortMonitors<Choice extends Pick<MonitorOverview, 'id' | 'name'>>(
  monitors: readonly Choice[],
  first: ReadonlySet<string> = new Set(),
): readonly Choice[] {
  const { compare } = new Intl.Collator(undefined, { numeric: true });
  return monitors.toSorted(
    (a, b) => Number(first.has(b.id)) - Number(first.has(a.id)) || compare(a.name, b.name),
  );
}
