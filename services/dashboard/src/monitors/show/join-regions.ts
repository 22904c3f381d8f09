import type { MonitorRegion } from '@tocsin/contracts/monitors/events';
import type { StatsFigures } from '@tocsin/contracts/monitors/stats';

export interface RegionRow {
  readonly region: string;
  /** Null where it had neither checks nor gaps in the window. */
  readonly figures: StatsFigures | null;
  /** Null where it checks the monitor no longer, or nothing is known. */
  readonly now: MonitorRegion | null;
}

/** One row for each region that checks the monitor or did within the window, by name. */
export function joinRegions(
  figures: readonly (StatsFigures & { readonly region: string })[],
  now: readonly MonitorRegion[],
): RegionRow[] {
  const names = new Set([...figures, ...now].map(({ region }) => region));
  return [...names].sort().map((name) => ({
    region: name,
    figures: figures.find(({ region }) => region === name) ?? null,
    now: now.find(({ region }) => region === name) ?? null,
  }));
}

/** What to say of a region's view, as `Passing`. */
export function describeRegion({ status, failing, consecutiveFailures, hasSay }: MonitorRegion): string {
  if (status === null) return 'No result yet';
  if (!hasSay) return 'No fresh result';
  if (consecutiveFailures === 0) return 'Passing';
  if (consecutiveFailures === 1) return failing ? 'Failing' : 'Failed once';
  return failing ? `Failing, ${consecutiveFailures} in a row` : `Failed ${consecutiveFailures} in a row`;
}
