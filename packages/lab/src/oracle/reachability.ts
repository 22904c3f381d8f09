import type { MonitorPlan } from '../load/world-plan.ts';
import { groupBy, isWithin, overlaps } from './history.ts';
import type { Cut, Disturbances, EventFacts, Outage, RegionSpan, Span } from './record.ts';

/** After a cut, failures may be ignored for this long. Canaries are checked every 2 s, with a timeout of 2 s. */
const RECONNECTED_WITHIN_MS = 5_000;
/** A checker may need this long after its start to take over the jobs and locks of a killed one. */
const TAKEN_OVER_WITHIN_MS = 15_000;
/** A result waits at most this long for proof that its region has a network. */
export const PROVEN_WITHIN_MS = 10_000;
/** Within this time after a region is reconnected, each of its monitors is checked. */
export const RECHECKED_WITHIN_MS = 30_000;
/** Every region notices a cut of at least this length. */
export const NOTICED_WITHIN_MS = 20_000;
/** An agent is connected again this long after a cut, or after its next start. */
const AGENT_BACK_WITHIN_MS = 10_000;
/** Allowance for a busy machine. */
export const SLACK_MS = 10_000;

/** Returns the time from the slot or start of a check until its result was recorded. */
export function spanOf({ slot, timestamp, latencyMs }: EventFacts): Span {
  return { from: slot ?? timestamp - latencyMs - PROVEN_WITHIN_MS, until: timestamp };
}

/** True if any span of this region overlaps another span. */
export function touches(spans: readonly RegionSpan[], region: string, span: Span): boolean {
  return spans.some((one) => one.region === region && overlaps(one, span));
}

/** Returns the cuts, each extended until failures count again. */
export function cutsUntilReconnected(cuts: readonly Cut[]): Cut[] {
  return cuts.map((cut) => ({ ...cut, until: cut.until + RECONNECTED_WITHIN_MS }));
}

/** Returns the cuts during which any region of a monitor cannot reach its target. */
export function cutsOf(cuts: readonly Cut[], { regions, byName }: MonitorPlan): Cut[] {
  return cuts.filter(({ region, kind }) => regions.includes(region) && (byName || kind !== 'dns'));
}

export function regionOfAgent(name: string): string {
  return name.split('-', 1)[0] ?? '';
}

/** Returns when all agents of a region are unavailable. A gateway takes over from a killed one at once. */
export function disturbancesOfRegions({ cuts, kills }: Disturbances): Disturbances {
  const spans = [...cuts, ...kills].map(({ region, from, until }) => {
    return { region, from, until: until + AGENT_BACK_WITHIN_MS };
  });
  const agents = groupBy(spans, ({ region }) => region);
  const regions = groupBy([...agents], ([name]) => regionOfAgent(name));
  return {
    cuts: [...regions].flatMap(([region, ofRegion]) =>
      ofRegion
        .map(([, unavailable]): Span[] => unavailable)
        .reduce(intersect)
        .map(({ from, until }) => ({ region, kind: 'silent', from, until })),
    ),
    kills: [],
  };
}

function intersect(ones: readonly Span[], others: readonly Span[]): Span[] {
  return ones.flatMap((one) =>
    others
      .filter((other) => overlaps(one, other))
      .map((other) => ({ from: Math.max(one.from, other.from), until: Math.min(one.until, other.until) })),
  );
}

/** Returns the earliest time at which most regions of a monitor have been able to reach its target for `forMs` since a given time. */
function reachedForAt(
  { cuts, kills }: Disturbances,
  monitor: MonitorPlan,
  since: number,
  forMs: number,
): number {
  const unreachable: RegionSpan[] = [
    ...cutsUntilReconnected(cutsOf(cuts, monitor)),
    ...kills.map((kill) => ({ ...kill, until: kill.until + TAKEN_OVER_WITHIN_MS })),
  ];
  const own = unreachable.filter(({ region }) => monitor.regions.includes(region));
  const reaches = (region: string, at: number): boolean =>
    own.every((one) => one.region !== region || one.from >= at || one.until <= at - forMs);
  const candidates = [since, ...own.map(({ until }) => until)].filter((time) => time >= since);
  const reached = candidates
    .map((time) => time + forMs)
    .filter(
      (at) => 2 * monitor.regions.filter((region) => reaches(region, at)).length > monitor.regions.length,
    );
  return Math.min(...reached);
}

/** Returns the time by which an outage must have caused DOWN, if it lasts until then. */
export function downBy(
  disturbances: Disturbances,
  monitor: MonitorPlan,
  { kind, from: since }: Pick<Outage, 'kind' | 'from'>,
): number {
  const { regions, failureThreshold, intervalSeconds, timeoutSeconds } = monitor;
  const isCold = kind === 'cold';
  // One check of a cold target is doubtful, and an extra check may follow another so soon that the target is awake.
  const untilCheckedMs = (isCold ? 2 : 1) * failureThreshold * intervalSeconds * 1_000;
  // If an outage began during an isolation, the extra checks after it detect the outage before the next regular check does.
  const long = disturbances.cuts.filter(
    (cut) => cut.kind !== 'dns' && cut.until - cut.from >= NOTICED_WITHIN_MS && isWithin(since, cut),
  );
  const beganIsolated = regions.every((region) => long.some((cut) => cut.region === region));
  const isRechecked = beganIsolated && failureThreshold === 1 && !isCold;
  const checkedWithinMs = isRechecked ? Math.min(untilCheckedMs, RECHECKED_WITHIN_MS) : untilCheckedMs;
  const neededMs = checkedWithinMs + timeoutSeconds * 1_000 + PROVEN_WITHIN_MS + SLACK_MS;
  return reachedForAt(disturbances, monitor, since, neededMs);
}

/** Returns the time by which a monitor must be UP after the end of an outage. */
export function upBy(disturbances: Disturbances, monitor: MonitorPlan, since: number): number {
  const { recoveryThreshold, intervalSeconds, timeoutSeconds } = monitor;
  // A check that began during the outage may still fail.
  const neededMs = (recoveryThreshold * intervalSeconds + 2 * timeoutSeconds) * 1_000 + SLACK_MS;
  return reachedForAt(disturbances, monitor, since, neededMs);
}
