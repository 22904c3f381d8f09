import { labelTexts } from '@tocsin/contracts/labels/labels';
import type { MonitorOverview } from '@tocsin/contracts/monitors/overview';

/** Returns a predicate for lower-case texts that contain every word of the search. An empty search matches every text. */
export function searchMatcher(search: string): (lowerText: string) => boolean {
  const words = search.toLowerCase().split(/\s+/);
  return (lowerText) => words.every((word) => lowerText.includes(word));
}

export function filterMonitors<Choice extends Pick<MonitorOverview, 'name' | 'url'>>(
  monitors: readonly Choice[],
  search: string,
): readonly Choice[] {
  const matches = searchMatcher(search);
  return monitors.filter(({ name, url }) => matches(`${name} ${url}`.toLowerCase()));
}

/** Sorts by name, with the monitors in `first` at the top. */
export function sortMonitors<Choice extends Pick<MonitorOverview, 'id' | 'name'>>(
  monitors: readonly Choice[],
  first: ReadonlySet<string> = new Set(),
): readonly Choice[] {
  const { compare } = new Intl.Collator(undefined, { numeric: true });
  return monitors.toSorted(
    (a, b) => Number(first.has(b.id)) - Number(first.has(a.id)) || compare(a.name, b.name),
  );
}

type Searchable = Pick<MonitorOverview, 'name' | 'url' | 'labels'> &
  Partial<Pick<MonitorOverview, 'externalId' | 'source'>>;

const searchTexts = new WeakMap<Searchable, string>();

/** Lower-case text with the labels, cached because every keystroke needs it. */
export function searchTextOf(monitor: Searchable): string {
  const { name, url, externalId, source, labels } = monitor;
  const text =
    searchTexts.get(monitor) ??
    [name, url, externalId, source, ...labelTexts(labels)].join('\n').toLowerCase();
  searchTexts.set(monitor, text);
  return text;
}
