/** From `from` to `to` (exclusive), epoch milliseconds. */
export interface Period {
  readonly from: number;
  readonly to: number;
}

/** What is recorded of a monitor. Lists are in order and without overlaps; what has not ended ends at `Infinity`. */
export interface MonitorHistory {
  readonly createdAt: number;
  readonly incidents: readonly Period[];
  readonly maintenance: readonly Period[];
  /** When nothing is known of it, because it had no results. */
  readonly unknown: readonly Period[];
}

/** Whether maintenance counts like any other time, or not at all. */
export type MaintenanceMode = 'included' | 'excluded';

/** The times of a monitor in a period, in milliseconds. Times of several monitors or periods add up, except the longest incident. */
export interface AvailabilityTimes {
  /** In which the monitor existed, and something is known of it. */
  readonly observedMs: number;
  /** In maintenance, in either mode. */
  readonly maintenanceMs: number;
  /** What uptime is a share of: `observedMs`, without maintenance if that is excluded. */
  readonly countedMs: number;
  /** The part of `countedMs` in which an incident was open. */
  readonly downtimeMs: number;
  /** Incidents with downtime in the period. */
  readonly incidents: number;
  /** The most downtime of one incident. */
  readonly longestIncidentMs: number;
}

/** Measures how long a monitor was available in a period (docs/reference/availability.md). */
export function measureAvailability(
  { createdAt, incidents, maintenance, unknown }: MonitorHistory,
  period: Period,
  mode: MaintenanceMode,
): AvailabilityTimes {
  const observed = { from: Math.max(period.from, createdAt), to: period.to };
  const totalMs = (all: readonly Period[]): number =>
    all.reduce((sum, one) => sum + overlapMs(one, observed), 0);
  const existedMs = totalMs([observed]);
  const observedMs = existedMs - totalMs(unknown);
  const either = joined(maintenance, unknown);
  const excluded = mode === 'excluded' ? either : unknown;
  let first = 0;
  const downtimes = incidents.flatMap((incident) => {
    const counted = { from: Math.max(incident.from, observed.from), to: Math.min(incident.to, observed.to) };
    let downtimeMs = overlapMs(counted, counted);
    while ((excluded[first]?.to ?? Infinity) <= counted.from) first += 1;
    for (let index = first; (excluded[index]?.from ?? Infinity) < counted.to; index += 1)
      downtimeMs -= overlapMs(excluded[index] ?? counted, counted);
    return downtimeMs > 0 ? [downtimeMs] : [];
  });
  return {
    observedMs,
    maintenanceMs: totalMs(either) - totalMs(unknown),
    countedMs: existedMs - totalMs(excluded),
    downtimeMs: downtimes.reduce((sum, one) => sum + one, 0),
    incidents: downtimes.length,
    longestIncidentMs: downtimes.reduce((longest, one) => Math.max(longest, one), 0),
  };
}

/** The times that are in one list of periods, or in both. */
function joined(some: readonly Period[], others: readonly Period[]): readonly Period[] {
  if (others.length === 0) return some;
  const all: Period[] = [];
  for (const next of [...some, ...others].toSorted((one, other) => one.from - other.from)) {
    const last = all.at(-1);
    if (last === undefined || last.to < next.from) all.push(next);
    else all[all.length - 1] = { from: last.from, to: Math.max(last.to, next.to) };
  }
  return all;
}

function overlapMs(one: Period, other: Period): number {
  return Math.max(0, Math.min(one.to, other.to) - Math.max(one.from, other.from));
}

/** The times of several monitors together. */
export function addTimes(times: readonly AvailabilityTimes[]): AvailabilityTimes {
  const sum = (pick: (one: AvailabilityTimes) => number): number =>
    times.reduce((total, one) => total + pick(one), 0);
  return {
    observedMs: sum(({ observedMs }) => observedMs),
    maintenanceMs: sum(({ maintenanceMs }) => maintenanceMs),
    countedMs: sum(({ countedMs }) => countedMs),
    downtimeMs: sum(({ downtimeMs }) => downtimeMs),
    incidents: sum(({ incidents }) => incidents),
    longestIncidentMs: times.reduce((longest, one) => Math.max(longest, one.longestIncidentMs), 0),
  };
}

/** The share of the counted time without downtime; null if no time counts. */
export function uptimeOf({ countedMs, downtimeMs }: AvailabilityTimes): number | null {
  return countedMs === 0 ? null : (countedMs - downtimeMs) / countedMs;
}
