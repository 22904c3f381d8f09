import type { Monitor } from '@tocsin/contracts/monitors/monitor';

/** Whether a text has every word of a search, ignoring case. An empty search matches every text. */
export function matchesSearch(text: string, search: string): boolean {
  const lower = text.toLowerCase();
  return search
    .toLowerCase()
    .split(/\s+/)
    .every((word) => lower.includes(word));
}

/** The monitors whose name or URL matches the search. */
export function filterMonitors<Choice extends Pick<Monitor, 'name' | 'url'>>(
  monitors: readonly Choice[],
  search: string,
): readonly Choice[] {
  return monitors.filter(({ name, url }) => matchesSearch(`${name} ${url}`, search));
}

/** Sorts by name, with the monitors of `first` before the others. */
export function sortMonitors<Choice extends Pick<Monitor, 'id' | 'name'>>(
  monitors: readonly Choice[],
  first: ReadonlySet<string>,
): readonly Choice[] {
  const { compare } = new Intl.Collator(undefined, { numeric: true });
  return monitors.toSorted(
    (a, b) => Number(first.has(b.id)) - Number(first.has(a.id)) || compare(a.name, b.name),
  );
}

/** Formats as `Shop, Blog and 3 more`. */
export function listNames(names: readonly string[], max = 3): string {
  if (names.length <= max) return joinWords(names);
  return `${names.slice(0, max).join(', ')} and ${names.length - max} more`;
}

/** Formats as `a, b and c`. */
export function joinWords(words: readonly string[]): string {
  const last = words.at(-1) ?? '';
  return words.length < 2 ? last : `${words.slice(0, -1).join(', ')} and ${last}`;
}
