import type { MonitorPlan } from '../../load/world-plan.ts';
import type { Disturbances, Outage, Span } from '../record.ts';

/** After a cut, failures count again by then. Canaries are checked every 2 s, with a timeout of 2 s. */
export const RECONNECTED_WITHIN_MS = 5_000;
/** After its start, a checker has taken over the jobs and locks of a killed one by then. */
const TAKEN_OVER_WITHIN_MS = 15_000;
/** The longest time that a result waits for proof that its region has a network. */
export const PROVEN_WITHIN_MS = 10_000;
/** Each monitor of a reconnected region is checked within this time. */
export const RECHECKED_WITHIN_MS = 30_000;
/** Every region notices a cut that lasts this long. */
export const NOTICED_WITHIN_MS = 20_000;
/** Allowance for a busy machine. */
export const SLACK_MS = 10_000;

/** Returns the times in which a region may not see the target of a monitor. */
function blindSpans({ cuts, kills }: Disturbances, { byName }: MonitorPlan, region: string): Span[] {
  return [
    ...cuts
      .filter((cut) => cut.region === region && (byName || cut.kind !== 'dns'))
      .map(({ from, until }) => ({ from, until: until + RECONNECTED_WITHIN_MS })),
    ...kills
      .filter((kill) => kill.region === region)
      .map(({ from, until }) => ({ from, until: until + TAKEN_OVER_WITHIN_MS })),
  ];
}

/** Returns the earliest time at which most regions of a monitor have seen its target for this long since a given time. */
function seenForAt(disturbances: Disturbances, monitor: MonitorPlan, since: number, forMs: number): number {
  const blind = monitor.regions.map((region) => blindSpans(disturbances, monitor, region));
  const sees = (own: readonly Span[], at: number): boolean =>
    own.every(({ from, until }) => from >= at || until <= at - forMs);
  const candidates = [since, ...blind.flat().map(({ until }) => until)].filter((time) => time >= since);
  const seen = candidates
    .map((time) => time + forMs)
    .filter((at) => 2 * blind.filter((own) => sees(own, at)).length > monitor.regions.length);
  return Math.min(...seen);
}

/** Returns the time by which an outage must have led to DOWN, if it lasts that long. */
export function downBy(
  disturbances: Disturbances,
  monitor: MonitorPlan,
  { kind, from: since }: Pick<Outage, 'kind' | 'from'>,
): number {
  const { regions, failureThreshold, intervalSeconds, timeoutSeconds } = monitor;
  const isCold = kind === 'cold';
  // One check of a cold target is doubtful, and an extra check may follow another so soon that the target is awake.
  const untilCheckedMs = (isCold ? 2 : 1) * failureThreshold * intervalSeconds * 1_000;
  // Extra checks after an isolation detect an outage that began in it before the next regular check does.
  const beganIsolated = regions.every((region) =>
    disturbances.cuts.some(
      (cut) =>
        cut.region === region &&
        cut.kind !== 'dns' &&
        cut.until - cut.from >= NOTICED_WITHIN_MS &&
        cut.from <= since &&
        since <= cut.until,
    ),
  );
  const checkedWithinMs =
    beganIsolated && failureThreshold === 1 && !isCold
      ? Math.min(untilCheckedMs, RECHECKED_WITHIN_MS)
      : untilCheckedMs;
  const neededMs = checkedWithinMs + timeoutSeconds * 1_000 + PROVEN_WITHIN_MS + SLACK_MS;
  return seenForAt(disturbances, monitor, since, neededMs);
}

/** Returns the time by which a monitor must be UP after the end of an outage. */
export function upBy(disturbances: Disturbances, monitor: MonitorPlan, since: number): number {
  const { recoveryThreshold, intervalSeconds, timeoutSeconds } = monitor;
  // A check that began in the outage may still fail.
  const neededMs = (recoveryThreshold * intervalSeconds + 2 * timeoutSeconds) * 1_000 + SLACK_MS;
  return seenForAt(disturbances, monitor, since, neededMs);
}
