import type { Monitor } from '@tocsin/contracts/monitors/monitor';

/** What a list to choose from needs of a monitor. */
export type MonitorChoice = Pick<Monitor, 'id' | 'name' | 'url'>;

/** Those whose name or URL has every word of the search; all for an empty one. */
export function filterMonitors<Choice extends MonitorChoice>(
  monitors: readonly Choice[],
  search: string,
): readonly Choice[] {
  const words = search.toLowerCase().split(/\s+/).filter(Boolean);
  if (words.length === 0) return monitors;
  return monitors.filter(({ name, url }) => {
    const text = `${name} ${url}`.toLowerCase();
    return words.every((word) => text.includes(word));
  });
}

/** By name, those of `first` before the others. */
export function sortMonitors<Choice extends MonitorChoice>(
  monitors: readonly Choice[],
  first: ReadonlySet<string>,
): readonly Choice[] {
  const { compare } = new Intl.Collator(undefined, { numeric: true });
  return monitors.toSorted(
    (a, b) => Number(first.has(b.id)) - Number(first.has(a.id)) || compare(a.name, b.name),
  );
}

/** As `Shop, Blog and 3 more`. */
export function listNames(names: readonly string[], most = 3): string {
  if (names.length <= most) return joinWords(names);
  return `${names.slice(0, most).join(', ')} and ${names.length - most} more`;
}

/** As `a, b and c`. */
export function joinWords(words: readonly string[]): string {
  const last = words.at(-1) ?? '';
  return words.length < 2 ? last : `${words.slice(0, -1).join(', ')} and ${last}`;
}
