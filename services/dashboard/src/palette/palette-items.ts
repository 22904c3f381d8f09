import type { MonitorOverview } from '@tocsin/contracts/monitors/overview';
import { searchMatcher } from '../components/filter-monitors.ts';

const MAX_MONITORS = 8;

export type PaletteMonitor = Pick<MonitorOverview, 'id' | 'name' | 'url' | 'labels' | 'status' | 'failing'>;

/** Monitors with their search texts in lower case, built once for all keystrokes. */
type MonitorIndex = readonly { readonly monitor: PaletteMonitor; readonly text: string }[];

export function indexMonitors(monitors: readonly PaletteMonitor[]): MonitorIndex {
  return monitors.map((monitor) => {
    const labels = Object.entries(monitor.labels).map(([key, value]) => `${key}=${value}`);
    return { monitor, text: [monitor.name, monitor.url, ...labels].join(' ').toLowerCase() };
  });
}

/** Items whose label or keywords contain every word of the search. */
export function findItems<Item extends { readonly label: string; readonly keywords?: string }>(
  items: readonly Item[],
  search: string,
): Item[] {
  const hasWords = searchMatcher(search.trim());
  return items.filter(({ label, keywords = '' }) => hasWords(`${label} ${keywords}`.toLowerCase()));
}

/** The best matches. Monitors whose name starts with the search come first. An empty search finds the monitors that are down. */
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
