import { matchesSelector } from '@tocsin/contracts/labels/selector-syntax';
import type { MonitorOverview } from '@tocsin/contracts/monitors/overview';
import { searchMatcher, searchTextOf } from '../../components/filter-monitors.ts';
import { formatNumber } from '../../components/format.ts';
import { keysOf } from '../../labels/label-text.ts';
import { readSelector } from '../../labels/selector-text.ts';
import type { MonitorsSearch } from '../monitors-search.ts';
import { type ShownStatus, shownStatus } from '../shown-status.ts';
import { type Latencies, NAMES, sortByName, sortMonitors, STATUS_ORDER } from './sort-monitors.ts';

export type StatusCounts = Readonly<Record<ShownStatus, number>>;

export interface MonitorGroup {
  /** Null for monitors without the label. */
  readonly value: string | null;
  /** Monitor IDs in list order. */
  readonly ids: readonly string[];
  readonly counts: StatusCounts;
}

/** Figures over all monitors. */
interface Summary {
  readonly totals: StatusCounts;
  /** Monitors in maintenance that currently fail. */
  readonly failing: number;
  readonly regions: readonly string[];
  readonly labelKeys: readonly string[];
}

export interface Arrangement extends Summary {
  readonly ids: readonly string[];
  /** The same monitors, worst group first. Null without grouping. */
  readonly groups: readonly MonitorGroup[] | null;
  /** Counts monitors that match all filters except the status. */
  readonly counts: StatusCounts;
}

/** Inputs of the arrangement besides monitors and search. */
export interface ListFacts {
  readonly latencies: Latencies;
  /** Regions without a checker. */
  readonly unserved: readonly string[];
  /** Epoch milliseconds. */
  readonly now: number;
}

export type Arranger = (
  monitors: readonly MonitorOverview[],
  search: MonitorsSearch,
  facts: ListFacts,
) => Arrangement;

/**
 * Returns a function that filters, sorts and groups the list. It starts from its last order, because comparing names is slow and checks do
 * not change names.
 * @param defaultRegion region of monitors without regions
 */
export function createArranger(defaultRegion: string): Arranger {
  let last: readonly MonitorOverview[] = [];
  let byName: readonly MonitorOverview[] = [];
  let summary = summarize([], defaultRegion);
  return (monitors, search, facts) => {
    if (monitors !== last) {
      byName = sortByName(monitors, byName);
      summary = summarize(monitors, defaultRegion);
      last = monitors;
    }
    return { ...summary, ...arrange(byName, search, facts, defaultRegion) };
  };
}

/** @param monitors sorted by name, which breaks ties in every order */
function arrange(
  monitors: readonly MonitorOverview[],
  search: MonitorsSearch,
  facts: ListFacts,
  defaultRegion: string,
): Omit<Arrangement, keyof Summary> {
  const { status, group } = search;
  const matching = filter(monitors, search, facts, defaultRegion);
  const shown =
    status === undefined ? matching : matching.filter((monitor) => shownStatus(monitor) === status);
  const sorted = sortMonitors(shown, search, facts.latencies);
  return {
    ids: sorted.map(({ id }) => id),
    groups: group === undefined || group === '' ? null : groupByLabel(sorted, group),
    counts: countByStatus(matching),
  };
}

function summarize(monitors: readonly MonitorOverview[], defaultRegion: string): Summary {
  return {
    totals: countByStatus(monitors),
    failing: monitors.filter(({ status, failing }) => status === 'MAINTENANCE' && failing).length,
    regions: [...new Set(monitors.flatMap((monitor) => regionsOf(monitor, defaultRegion)))].toSorted(),
    labelKeys: keysOf(monitors),
  };
}

function filter(
  monitors: readonly MonitorOverview[],
  { q = '', region, show, selector: selectorText = '' }: MonitorsSearch,
  { unserved, now }: ListFacts,
  defaultRegion: string,
): readonly MonitorOverview[] {
  // An invalid selector filters nothing, and its field shows the error.
  const { selector } = readSelector(selectorText);
  const matches = searchMatcher(q);
  const expiresBefore = new Date(now + EXPIRING_MS).toISOString();
  const isWanted = {
    unacknowledged: ({ incident }: MonitorOverview) => incident !== null && incident.acknowledgedAt === null,
    expiring: ({ enabled, certificateExpiresAt }: MonitorOverview) =>
      enabled && certificateExpiresAt !== null && certificateExpiresAt < expiresBefore,
    unchecked: (monitor: MonitorOverview) =>
      monitor.enabled && regionsOf(monitor, defaultRegion).some((code) => unserved.includes(code)),
  };
  return monitors.filter(
    (monitor) =>
      (selector === null || matchesSelector(selector, monitor.labels)) &&
      (region === undefined || regionsOf(monitor, defaultRegion).includes(region)) &&
      (show === undefined || isWanted[show](monitor)) &&
      (q === '' || matches(searchTextOf(monitor))),
  );
}

const EXPIRING_MS = 30 * 24 * 60 * 60 * 1_000;

/** Groups monitors by a label and keeps their order. The most urgent group comes first. */
function groupByLabel(monitors: readonly MonitorOverview[], key: string): readonly MonitorGroup[] {
  const members = new Map<string | null, MonitorOverview[]>();
  for (const monitor of monitors) {
    const value = Object.hasOwn(monitor.labels, key) ? (monitor.labels[key] ?? null) : null;
    const known = members.get(value);
    if (known === undefined) members.set(value, [monitor]);
    else known.push(monitor);
  }
  const groups = [...members].map(([value, own]) => {
    return { value, ids: own.map(({ id }) => id), counts: countByStatus(own) };
  });
  return groups.sort(compareGroups);
}

function compareGroups(one: MonitorGroup, other: MonitorGroup): number {
  for (const status of STATUS_ORDER) {
    const difference = other.counts[status] - one.counts[status];
    if (difference !== 0 && status !== 'UP') return difference;
  }
  if (one.value === null || other.value === null) return one.value === null ? 1 : -1;
  return NAMES.compare(one.value, other.value);
}

/** A group, or the ID of a monitor. */
export type ListRow = MonitorGroup | string;

/** @param collapsed values of groups whose monitors are hidden */
export function listRows(
  { ids, groups }: Pick<Arrangement, 'ids' | 'groups'>,
  collapsed: ReadonlySet<string | null>,
): readonly ListRow[] {
  if (groups === null) return ids;
  return groups.flatMap((group) => (collapsed.has(group.value) ? [group] : [group, ...group.ids]));
}

export function regionsOf(
  { regions }: Pick<MonitorOverview, 'regions'>,
  defaultRegion: string,
): readonly string[] {
  return regions.length === 0 ? [defaultRegion] : regions;
}

function countByStatus(monitors: readonly MonitorOverview[]): StatusCounts {
  const counts = { DOWN: 0, PENDING: 0, MAINTENANCE: 0, PAUSED: 0, UP: 0 };
  for (const monitor of monitors) counts[shownStatus(monitor)] += 1;
  return counts;
}

/** Formats as "3 down, 2 in maintenance (1 failing), 1 paused, 4,990 up", without statuses that no monitor has. */
export function describeTotals({ totals, failing }: Pick<Arrangement, 'totals' | 'failing'>): string {
  const { DOWN, PENDING, MAINTENANCE, PAUSED, UP } = totals;
  if (DOWN + PENDING + MAINTENANCE + PAUSED === 0) {
    if (UP === 0) return '0 monitors';
    return UP === 1 ? '1 monitor is up' : `All ${formatNumber(UP)} monitors are up`;
  }
  const maintenance = `in maintenance${failing === 0 ? '' : ` (${formatNumber(failing)} failing)`}`;
  return Object.entries({ down: DOWN, pending: PENDING, [maintenance]: MAINTENANCE, paused: PAUSED, up: UP })
    .filter(([, count]) => count > 0)
    .map(([label, count]) => `${formatNumber(count)} ${label}`)
    .join(', ');
}

/** The monitors between two others in list order, including both. Only the second if the first is not listed. */
export function rangeOf(ids: readonly string[], from: string | null, to: string): readonly string[] {
  const [one, other] = [ids.indexOf(from ?? ''), ids.indexOf(to)];
  return one < 0 ? [to] : ids.slice(Math.min(one, other), Math.max(one, other) + 1);
}
