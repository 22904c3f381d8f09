/** From `from` to `to` (exclusive), epoch milliseconds. */
export interface Period {
  readonly from: number;
  readonly to: number;
}

/** Recorded history of a monitor. Lists are ordered and do not overlap. A period that has not ended ends at `Infinity`. */
export interface MonitorHistory {
  readonly createdAt: number;
  readonly incidents: readonly Period[];
  readonly maintenance: readonly Period[];
  /** Periods without results. */
  readonly unknown: readonly Period[];
}

export type MaintenanceMode = 'included' | 'excluded';

/** Durations of a monitor in a period, in milliseconds. All except the longest incident add up across monitors and periods. */
export interface AvailabilityTimes {
  /** Time when the monitor existed and its status was known. */
  readonly observedMs: number;
  /** Time in maintenance of either mode. */
  readonly maintenanceMs: number;
  /** Base of the uptime. Equals `observedMs`, less the maintenance if that is excluded. */
  readonly countedMs: number;
  /** Part of `countedMs` with an open incident. */
  readonly downtimeMs: number;
  readonly incidents: number;
  readonly longestIncidentMs: number;
}

/** Measures the availability of a monitor in a period (docs/concepts/availability.md). */
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

/** Returns the share of the counted time without downtime, or null if no time counts. */
export function uptimeOf({ countedMs, downtimeMs }: AvailabilityTimes): number | null {
  return countedMs === 0 ? null : (countedMs - downtimeMs) / countedMs;
}
