import { matchesSelector } from '@tocsin/contracts/labels/selector-syntax';
import type { MonitorOverview } from '@tocsin/contracts/monitors/overview';
import type { MonitorStatus } from '@tocsin/contracts/vocabulary';
import { matchesSearch } from '../../components/filter-monitors.ts';
import { readSelector } from '../../labels/selector-text.ts';
import type { MonitorsSearch } from '../monitors-search.ts';

/** Most urgent first. */
export const STATUS_ORDER = ['DOWN', 'PENDING', 'MAINTENANCE', 'UP'] as const satisfies MonitorStatus[];

export type StatusCounts = Readonly<Record<MonitorStatus, number>>;

export interface Arrangement {
  /** The monitors to show, in order. */
  readonly ids: readonly string[];
  /** Of the monitors that match the search and the region. */
  readonly counts: StatusCounts;
  /** Of all monitors. */
  readonly totals: StatusCounts;
  /** Of all monitors, sorted. */
  readonly regions: readonly string[];
  /** Whether any monitor has labels. */
  readonly hasLabels: boolean;
}

/** The latency in milliseconds of each monitor's latest check with a response. */
export type Latencies = ReadonlyMap<string, number>;

const NAMES = new Intl.Collator(undefined, { numeric: true, sensitivity: 'base' });

/**
 * Returns a function that filters and sorts the list. It starts from its last order: comparing names is slow, and checks do not change it.
 * @param defaultRegion the region of monitors without regions
 */
export function createArranger(
  defaultRegion: string,
): (monitors: readonly MonitorOverview[], search: MonitorsSearch, latencies: Latencies) => Arrangement {
  let lastOrder: readonly string[] = [];
  return (monitors, search, latencies) => {
    const byId = new Map(monitors.map((monitor) => [monitor.id, monitor]));
    const byName = [...new Set([...lastOrder, ...byId.keys()])].flatMap((id) => byId.get(id) ?? []);
    byName.sort((one, other) => NAMES.compare(one.name, other.name) || compareText(one.id, other.id));
    lastOrder = byName.map(({ id }) => id);
    return arrange(byName, search, latencies, defaultRegion);
  };
}

/** @param monitors sorted by name, which every order keeps among equals */
function arrange(
  monitors: readonly MonitorOverview[],
  { q = '', status, region, selector: selectorText = '', order = 'status' }: MonitorsSearch,
  latencies: Latencies,
  defaultRegion: string,
): Arrangement {
  // An invalid selector filters nothing. The field says what is wrong.
  const { selector } = readSelector(selectorText);
  const matching = monitors.filter(
    (monitor) =>
      (selector === null || matchesSelector(selector, monitor.labels)) &&
      (region === undefined || regionsOf(monitor, defaultRegion).includes(region)) &&
      (q === '' || matchesSearch(searchTextOf(monitor), q)),
  );
  const shown = status === undefined ? matching : matching.filter((monitor) => monitor.status === status);
  return {
    ids: sort(shown, order, latencies).map(({ id }) => id),
    counts: countByStatus(matching),
    totals: countByStatus(monitors),
    regions: [...new Set(monitors.flatMap((monitor) => regionsOf(monitor, defaultRegion)))].toSorted(),
    hasLabels: monitors.some(({ labels }) => Object.keys(labels).length > 0),
  };
}

function sort(
  byName: readonly MonitorOverview[],
  order: NonNullable<MonitorsSearch['order']>,
  latencies: Latencies,
): readonly MonitorOverview[] {
  switch (order) {
    case 'name':
      return byName;
    case 'newest':
      // Ids sort by creation.
      return byName.toSorted((one, other) => compareText(other.id, one.id));
    case 'latency': {
      const of = ({ id }: MonitorOverview): number => latencies.get(id) ?? -1;
      return byName.toSorted((one, other) => of(other) - of(one));
    }
    case 'status':
      return STATUS_ORDER.flatMap((status) => {
        const same = byName.filter((monitor) => monitor.status === status);
        // The latest outage comes first.
        return status === 'DOWN'
          ? same.sort((one, other) => compareText(other.statusSince, one.statusSince))
          : same;
      });
  }
}

/** The regions that check a monitor. */
export function regionsOf(
  { regions }: Pick<MonitorOverview, 'regions'>,
  defaultRegion: string,
): readonly string[] {
  return regions.length === 0 ? [defaultRegion] : regions;
}

function searchTextOf({ name, url, externalId, source }: MonitorOverview): string {
  return [name, url, externalId, source].join('\n');
}

function countByStatus(monitors: readonly MonitorOverview[]): StatusCounts {
  const counts = { DOWN: 0, PENDING: 0, MAINTENANCE: 0, UP: 0 };
  for (const { status } of monitors) counts[status] += 1;
  return counts;
}

function compareText(one: string, other: string): number {
  if (one === other) return 0;
  return one < other ? -1 : 1;
}

/** Formats as "3 down, 1 pending, 4,990 up", without statuses that no monitor has. */
export function describeTotals({ DOWN, PENDING, MAINTENANCE, UP }: StatusCounts): string {
  if (DOWN + PENDING + MAINTENANCE === 0) {
    if (UP === 0) return '0 monitors';
    return UP === 1 ? '1 monitor is up' : `All ${UP.toLocaleString()} monitors are up`;
  }
  return Object.entries({ down: DOWN, pending: PENDING, 'in maintenance': MAINTENANCE, up: UP })
    .filter(([, count]) => count > 0)
    .map(([label, count]) => `${count.toLocaleString()} ${label}`)
    .join(', ');
}
