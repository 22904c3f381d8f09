import type { Monitor } from '@tocsin/contracts/monitors/monitor';
import type { MonitorStatus } from '@tocsin/contracts/vocabulary';
import type { MonitorsSearch } from '../monitors-search.ts';

/** In the order in which they ask for attention. */
export const STATUS_ORDER = ['DOWN', 'PENDING', 'MAINTENANCE', 'UP'] as const satisfies MonitorStatus[];

export type StatusCounts = Readonly<Record<MonitorStatus, number>>;

/** What the list shows. */
export interface Arrangement {
  /** Of the monitors to show, in their order. */
  readonly ids: readonly string[];
  /** Of the monitors that search and region leave. */
  readonly counts: StatusCounts;
  /** Of all monitors. */
  readonly totals: StatusCounts;
  /** Of all monitors, sorted. */
  readonly regions: readonly string[];
}

/** Milliseconds of the latest check that was answered, by monitor. */
export type Latencies = ReadonlyMap<string, number>;

const NAMES = new Intl.Collator(undefined, { numeric: true, sensitivity: 'base' });

/**
 * Filters and sorts the list, anew only where something changed that this depends on: that a monitor was checked
 * again changes nothing, and the answer is the same object.
 */
export class MonitorArranger {
  readonly #defaultRegion: string;
  #monitors: readonly Monitor[] = [];
  #search: MonitorsSearch = {};
  #latencies: Latencies = new Map();
  /** Places in the list, by name. */
  #byName: readonly number[] = [];
  #arrangement: Arrangement | null = null;

  /** @param defaultRegion that of monitors that name none */
  constructor(defaultRegion: string) {
    this.#defaultRegion = defaultRegion;
  }

  arrange(monitors: readonly Monitor[], search: MonitorsSearch, latencies: Latencies): Arrangement {
    const before = this.#monitors;
    const isSameQuestion = isSameSearch(this.#search, search) && this.#latencies === latencies;
    this.#monitors = monitors;
    if (this.#arrangement !== null && isSameQuestion && isSame(before, monitors, isSameInList))
      return this.#arrangement;
    if (!isSame(before, monitors, isSameName)) this.#byName = placesByName(monitors);
    this.#search = search;
    this.#latencies = latencies;
    const byName = this.#byName.flatMap((place) => monitors[place] ?? []);
    this.#arrangement = arrange(byName, search, latencies, this.#defaultRegion);
    return this.#arrangement;
  }
}

/** @param monitors by name: what is equal in an order stays so */
function arrange(
  monitors: readonly Monitor[],
  search: MonitorsSearch,
  latencies: Latencies,
  defaultRegion: string,
): Arrangement {
  const { q = '', status, region, order = 'status' } = search;
  const terms = q.toLowerCase().split(/\s+/).filter(Boolean);
  const isInRegion = (monitor: Monitor): boolean =>
    region === undefined || regionsOf(monitor, defaultRegion).includes(region);
  const left = monitors.filter((monitor) => isInRegion(monitor) && holdsAll(monitor, terms));
  const shown = status === undefined ? left : left.filter((monitor) => monitor.status === status);
  return {
    ids: sort(shown, order, latencies).map(({ id }) => id),
    counts: countByStatus(left),
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
        // What broke last stands first.
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

function holdsAll({ name, url, externalId, source }: Monitor, terms: readonly string[]): boolean {
  if (terms.length === 0) return true;
  const text = `${name}\n${url}\n${externalId ?? ''}\n${source ?? ''}`.toLowerCase();
  return terms.every((term) => text.includes(term));
}

function countByStatus(monitors: readonly Monitor[]): StatusCounts {
  const counts = { DOWN: 0, PENDING: 0, MAINTENANCE: 0, UP: 0 };
  for (const { status } of monitors) counts[status] += 1;
  return counts;
}

function placesByName(monitors: readonly Monitor[]): readonly number[] {
  const named = monitors.map(({ id, name }, place) => ({ id, name, place }));
  return named
    .sort((one, other) => NAMES.compare(one.name, other.name) || compareText(one.id, other.id))
    .map(({ place }) => place);
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
  return one.id === other.id && one.name === other.name;
}

function isSameInList(one: Monitor, other: Monitor): boolean {
  return (
    isSameName(one, other) &&
    one.status === other.status &&
    one.statusSince === other.statusSince &&
    one.url === other.url &&
    one.externalId === other.externalId &&
    one.source === other.source &&
    one.regions.join() === other.regions.join()
  );
}

/** As "3 down, 1 pending, 4,990 up"; what there is none of is left out. */
export function describeTotals({ DOWN, PENDING, MAINTENANCE, UP }: StatusCounts): string {
  if (DOWN + PENDING + MAINTENANCE + UP === 0) return 'Nothing is watched yet';
  const parts = [
    { count: DOWN, words: 'down' },
    { count: PENDING, words: 'pending' },
    { count: MAINTENANCE, words: 'in maintenance' },
    { count: UP, words: 'up' },
  ].filter(({ count }) => count > 0);
  const [only] = parts;
  if (parts.length === 1 && only?.words === 'up')
    return only.count === 1 ? 'The one monitor is up' : `All ${only.count.toLocaleString()} are up`;
  return parts.map(({ count, words }) => `${count.toLocaleString()} ${words}`).join(', ');
}
