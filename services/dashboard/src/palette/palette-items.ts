import type { MonitorStatus } from '@tocsin/contracts/vocabulary';
import { searchMatcher } from '../components/filter-monitors.ts';

const MAX_MONITORS = 8;

/** What the palette shows of a monitor. */
export interface PaletteMonitor {
  readonly id: string;
  readonly name: string;
  readonly url: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly status: MonitorStatus;
  readonly failing: boolean;
}

/** The monitors to search, each with its text in lower case, which is built once for all keystrokes. */
export type MonitorIndex = readonly { readonly monitor: PaletteMonitor; readonly text: string }[];

export function indexMonitors(monitors: readonly PaletteMonitor[]): MonitorIndex {
  return monitors.map((monitor) => {
    const labels = Object.entries(monitor.labels).map(([key, value]) => `${key}=${value}`);
    return { monitor, text: [monitor.name, monitor.url, ...labels].join(' ').toLowerCase() };
  });
}

/** The items whose label or keywords have every word of the search. */
export function findItems<Item extends { readonly label: string; readonly keywords?: string }>(
  items: readonly Item[],
  search: string,
): Item[] {
  const hasWords = searchMatcher(search.trim());
  return items.filter(({ label, keywords = '' }) => hasWords(`${label} ${keywords}`.toLowerCase()));
}

/** The best matches, those whose name begins with the search first. Without a search: the monitors that are down. */
export function findMonitors(
  index: MonitorIndex,
  search: string,
): { readonly found: readonly PaletteMonitor[]; readonly total: number } {
  const query = search.trim().toLowerCase();
  const hasWords = searchMatcher(query);
  const matches = index.filter(({ monitor, text }) =>
    query === '' ? monitor.status === 'DOWN' : hasWords(text),
  );
  const ranks: PaletteMonitor[][] = [[], [], []];
  for (const { monitor } of matches) {
    const position = monitor.name.toLowerCase().indexOf(query);
    ranks[position === 0 ? 0 : position > 0 ? 1 : 2]?.push(monitor);
  }
  return { found: ranks.flat().slice(0, MAX_MONITORS), total: matches.length };
}
