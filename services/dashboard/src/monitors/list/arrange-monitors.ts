import type { Monitor } from '@tocsin/contracts/monitors/monitor';
import type { MonitorStatus } from '@tocsin/contracts/vocabulary';
import { matchesSearch } from '../../components/filter-monitors.ts';
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
}

/** The latency in milliseconds of each monitor's latest check with a response. */
export type Latencies = ReadonlyMap<string, number>;

const NAMES = new Intl.Collator(undefined, { numeric: true, sensitivity: 'base' });
const NAME_FIELDS = ['id', 'name'] as const;
const LIST_FIELDS = [...NAME_FIELDS, 'status', 'statusSince', 'url', 'externalId', 'source'] as const;

/** Filters and sorts the list. It returns the same object until something changes that the arrangement depends on; a check does not. */
export class MonitorArranger {
  readonly #defaultRegion: string;
  #monitors: readonly Monitor[] = [];
  #search: MonitorsSearch = {};
  #latencies: Latencies = new Map();
  /** Indexes of the list, sorted by name. */
  #byName: readonly number[] = [];
  #arrangement: Arrangement | null = null;

  /** @param defaultRegion the region of monitors without regions */
  constructor(defaultRegion: string) {
    this.#defaultRegion = defaultRegion;
  }

  arrange(monitors: readonly Monitor[], search: MonitorsSearch, latencies: Latencies): Arrangement {
    const before = this.#monitors;
    this.#monitors = monitors;
    if (
      this.#arrangement !== null &&
      this.#latencies === latencies &&
      isSameSearch(this.#search, search) &&
      isSame(before, monitors, isSameInList)
    )
      return this.#arrangement;
    if (!isSame(before, monitors, isSameName)) this.#byName = sortByName(monitors);
    this.#search = search;
    this.#latencies = latencies;
    const byName = this.#byName.flatMap((index) => monitors[index] ?? []);
    this.#arrangement = arrange(byName, search, latencies, this.#defaultRegion);
    return this.#arrangement;
  }
}

/** @param monitors sorted by name, which every order keeps among equals */
function arrange(
  monitors: readonly Monitor[],
  { q = '', status, region, order = 'status' }: MonitorsSearch,
  latencies: Latencies,
  defaultRegion: string,
): Arrangement {
  const matching = monitors.filter(
    (monitor) =>
      (region === undefined || regionsOf(monitor, defaultRegion).includes(region)) &&
      (q === '' || matchesSearch(searchTextOf(monitor), q)),
  );
  const shown = status === undefined ? matching : matching.filter((monitor) => monitor.status === status);
  return {
    ids: sort(shown, order, latencies).map(({ id }) => id),
    counts: countByStatus(matching),
    totals: countByStatus(monitors),
    regions: [...new Set(monitors.flatMap((monitor) => regionsOf(monitor, defaultRegion)))].toSorted(),
  };
}

function sort(
  byName: readonly Monitor[],
  order: NonNullable<MonitorsSearch['order']>,
  latencies: Latencies,
): readonly Monitor[] {
  switch (order) {
    case 'name':
      return byName;
    case 'newest':
      return byName.toSorted((one, other) => compareText(other.createdAt, one.createdAt));
    case 'latency': {
      const of = ({ id }: Monitor): number => latencies.get(id) ?? -1;
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
export function regionsOf({ regions }: Pick<Monitor, 'regions'>, defaultRegion: string): readonly string[] {
  return regions.length === 0 ? [defaultRegion] : regions;
}

function searchTextOf({ name, url, externalId, source }: Monitor): string {
  return [name, url, externalId, source].join('\n');
}

function countByStatus(monitors: readonly Monitor[]): StatusCounts {
  const counts = { DOWN: 0, PENDING: 0, MAINTENANCE: 0, UP: 0 };
  for (const { status } of monitors) counts[status] += 1;
  return counts;
}

function sortByName(monitors: readonly Monitor[]): readonly number[] {
  return monitors
    .map(({ id, name }, index) => ({ id, name, index }))
    .sort((one, other) => NAMES.compare(one.name, other.name) || compareText(one.id, other.id))
    .map(({ index }) => index);
}

function compareText(one: string, other: string): number {
  if (one === other) return 0;
  return one < other ? -1 : 1;
}

function isSameSearch(one: MonitorsSearch, other: MonitorsSearch): boolean {
  return (['q', 'status', 'region', 'order'] as const).every((key) => one[key] === other[key]);
}

function isSame(
  before: readonly Monitor[],
  after: readonly Monitor[],
  isSameMonitor: (one: Monitor, other: Monitor) => boolean,
): boolean {
  return (
    before.length === after.length &&
    after.every((monitor, index) => {
      const old = before[index];
      return old === monitor || (old !== undefined && isSameMonitor(old, monitor));
    })
  );
}

function isSameName(one: Monitor, other: Monitor): boolean {
  return NAME_FIELDS.every((field) => one[field] === other[field]);
}

function isSameInList(one: Monitor, other: Monitor): boolean {
  return (
    LIST_FIELDS.every((field) => one[field] === other[field]) && one.regions.join() === other.regions.join()
  );
}

/** Formats as "3 down, 1 pending, 4,990 up", without statuses that no monitor has. */
export function describeTotals({ DOWN, PENDING, MAINTENANCE, UP }: StatusCounts): string {
  const parts = [
    { count: DOWN, label: 'down' },
    { count: PENDING, label: 'pending' },
    { count: MAINTENANCE, label: 'in maintenance' },
    { count: UP, label: 'up' },
  ].filter(({ count }) => count > 0);
  if (parts.length === 0) return '0 monitors';
  if (parts.length === 1 && UP > 0)
    return UP === 1 ? '1 monitor is up' : `All ${UP.toLocaleString()} monitors are up`;
  return parts.map(({ count, label }) => `${count.toLocaleString()} ${label}`).join(', ');
}
