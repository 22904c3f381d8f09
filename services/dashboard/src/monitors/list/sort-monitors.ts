import type { MonitorLatency } from '@tocsin/contracts/monitors/bulk-routes';
import type { MonitorOverview } from '@tocsin/contracts/monitors/overview';
import type { MonitorsSearch } from '../monitors-search.ts';
import { type ShownStatus, shownStatus } from '../shown-status.ts';

/** Most urgent first. */
export const STATUS_ORDER = [
  'DOWN',
  'PENDING',
  'MAINTENANCE',
  'PAUSED',
  'UP',
] as const satisfies ShownStatus[];

export type Latencies = ReadonlyMap<string, Pick<MonitorLatency, 'p95' | 'p99'>>;

export const NAMES = new Intl.Collator(undefined, { numeric: true, sensitivity: 'base' });

/** Starts from an earlier order, because comparing names is slow. @param before in nearly the same order */
export function sortByName(
  monitors: readonly MonitorOverview[],
  before: readonly MonitorOverview[],
): readonly MonitorOverview[] {
  const byId = new Map(monitors.map((monitor) => [monitor.id, monitor]));
  const ids = new Set([...before.map(({ id }) => id), ...byId.keys()]);
  const sorted = [...ids].flatMap((id) => byId.get(id) ?? []);
  return sorted.sort((one, other) => NAMES.compare(one.name, other.name) || compareText(one.id, other.id));
}

/** @param byName sorted by name, which breaks ties in every order */
export function sortMonitors(
  byName: readonly MonitorOverview[],
  { order = 'status', reverse: isReversed }: MonitorsSearch,
  latencies: Latencies,
): readonly MonitorOverview[] {
  const reverse = isReversed === true;
  switch (order) {
    case 'name':
      return reverse ? byName.toReversed() : byName;
    case 'newest':
      // IDs sort by creation.
      return sortBy(byName, ({ id }) => id, !reverse);
    case 'latency':
      return sortBy(byName, ({ id }) => latencies.get(id)?.p95 ?? null, !reverse);
    case 'p99':
      return sortBy(byName, ({ id }) => latencies.get(id)?.p99 ?? null, !reverse);
    case 'certificate':
      return sortBy(byName, ({ certificateExpiresAt }) => certificateExpiresAt, reverse);
    case 'checked':
      return sortBy(byName, ({ lastCheckedAt }) => lastCheckedAt, reverse);
    case 'status':
      return sortByStatus(byName, reverse);
  }
}

/** @param valueOf returns the sort key. Null comes last in either direction */
function sortBy(
  byName: readonly MonitorOverview[],
  valueOf: (monitor: MonitorOverview) => string | number | null,
  descending: boolean,
): readonly MonitorOverview[] {
  const sign = descending ? -1 : 1;
  const keyed = byName.map((monitor) => ({ monitor, value: valueOf(monitor) }));
  keyed.sort((one, other) => {
    if (one.value === other.value) return 0;
    if (one.value === null) return 1;
    if (other.value === null) return -1;
    return one.value < other.value ? -sign : sign;
  });
  return keyed.map(({ monitor }) => monitor);
}

function sortByStatus(byName: readonly MonitorOverview[], reverse: boolean): readonly MonitorOverview[] {
  return (reverse ? STATUS_ORDER.toReversed() : STATUS_ORDER).flatMap((status) => {
    const same = byName.filter((monitor) => shownStatus(monitor) === status);
    // The latest outage comes first. In maintenance, failing monitors come first.
    if (status === 'DOWN') return sortBy(same, ({ statusSince }) => statusSince, !reverse);
    return status === 'MAINTENANCE' ? sortBy(same, ({ failing }) => Number(failing), !reverse) : same;
  });
}

function compareText(one: string, other: string): number {
  if (one === other) return 0;
  return one < other ? -1 : 1;
}
