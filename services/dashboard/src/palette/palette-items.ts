import type { MonitorOverview } from '@tocsin/contracts/monitors/overview';
import { searchMatcher, searchTextOf } from '../components/filter-monitors.ts';

const MAX_MONITORS = 8;

export type PaletteMonitor = Pick<
  MonitorOverview,
  'id' | 'name' | 'url' | 'labels' | 'enabled' | 'status' | 'failing'
>;

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
  monitors: readonly PaletteMonitor[],
  search: string,
): { readonly found: readonly PaletteMonitor[]; readonly total: number } {
  const query = search.trim().toLowerCase();
  const hasWords = searchMatcher(query);
  const matches = monitors.filter((monitor) =>
    query === '' ? monitor.status === 'DOWN' : hasWords(searchTextOf(monitor)),
  );
  const ranks: PaletteMonitor[][] = [[], [], []];
  for (const monitor of matches) {
    const position = monitor.name.toLowerCase().indexOf(query);
    ranks[position === 0 ? 0 : position > 0 ? 1 : 2]?.push(monitor);
  }
  return { found: ranks.flat().slice(0, MAX_MONITORS), total: matches.length };
}

/** Lists the buttons and links in the header of the page, such as "Acknowledge", as actions. */
export function pageActions(page: ParentNode): { readonly label: string; readonly run: () => void }[] {
  const controls = page.querySelectorAll<HTMLElement>('main [data-actions] :is(button:not(:disabled), a)');
  return [...controls].map((control) => ({
    label: (control.ariaLabel ?? control.textContent).trim(),
    run: () => control.click(),
  }));
}
