import { groupBy, historiesOf, iso, overlaps, type History } from './history.ts';
import type { Check, EventFacts, NetworkMonitor, NetworkRecord, RegionSpan } from './record.ts';
import {
  cutsUntilReconnected,
  NOTICED_WITHIN_MS,
  PROVEN_WITHIN_MS,
  RECHECKED_WITHIN_MS,
  SLACK_MS,
  spanOf,
  touches,
} from './reachability.ts';

/** These invariants hold in regions with canaries. */
export const ISOLATION_CHECKS: readonly Check<NetworkRecord>[] = [
  ['a region is isolated only when it is cut off, or for a moment when it loses packets', wrongIsolations],
  ['a region that is cut off is isolated', missedCuts],
  [
    'results are inconclusive only when their region is isolated, or in doubt and never twice in a row',
    wrongInconclusives,
  ],
  ['each monitor of a reconnected region is checked', missingRechecks],
  ['checks of a reconnected region are spread', bursts],
  ['no result waits longer than 10 s', longWaits],
];

/** If the interval is longer than this, a check soon after an isolation is an extra one. */
const RARE_INTERVAL_SECONDS = 20;
/** Largest share and number of extra checks in any second. They are spread over 20 s. */
const MAX_PER_SECOND = { share: 0.35, checks: 10 } as const;
/** Packet loss alone isolates a region for at most this long. */
const MAX_LOSSY_ISOLATION_MS = 10_000;
/** This close to a kill and the next start of a checker, results may be late because they wait for the jobs of the killed checker. */
const KILLED_MS = { before: 15_000, after: 30_000 } as const;

function describe({ region, from, until }: RegionSpan, verb: string): string {
  return `${region} ${verb} isolated from ${iso(from)} to ${iso(until)}`;
}

function wrongIsolations({ isolations, cuts, losses }: NetworkRecord): string[] {
  return isolations
    .filter((isolation) => {
      const { region, from, until } = isolation;
      const isBrief = until - from <= MAX_LOSSY_ISOLATION_MS;
      const isCutOff = touches(cutsUntilReconnected(cuts), region, { from, until: from });
      return !isCutOff && !(isBrief && touches(losses, region, isolation));
    })
    .map((isolation) => describe(isolation, 'was'));
}

function missedCuts({ cuts, isolations }: NetworkRecord): string[] {
  return cuts
    .filter(({ from, until }) => until - from >= NOTICED_WITHIN_MS)
    .filter((cut) => !touches(isolations, cut.region, cut))
    .map((cut) => describe(cut, 'was not'));
}

function wrongInconclusives(record: NetworkRecord): string[] {
  const isolated = [...cutsUntilReconnected(record.cuts), ...record.isolations];
  // Outside of isolations, only a second probe can have made a result doubtful.
  const isDoubtful = (event: EventFacts | undefined): boolean =>
    event !== undefined && event.inconclusive && !touches(isolated, event.region, spanOf(event));
  return historiesOf(record).flatMap((history) =>
    [...groupBy(history.events, ({ region }) => region).values()].flatMap((events) =>
      events
        .filter((event, index) => {
          const isRepeated = isDoubtful(events[index - 1]);
          return isDoubtful(event) && (isRepeated || !mayRespondAgain(record, history, event));
        })
        .map((event) => nameOf(history, event)),
    ),
  );
}

/** A target that did not respond to a check may have responded to the second probe. */
function mayRespondAgain({ losses }: NetworkRecord, { monitor }: History, event: EventFacts): boolean {
  const span = spanOf(event);
  const { outages, sleeps } = monitor.plan as NetworkMonitor;
  const hasRecovered = outages.some(
    (outage) => overlaps(outage, span) && (outage.kind === 'cold' || outage.until <= span.until),
  );
  return sleeps || hasRecovered || touches(losses, event.region, span);
}

function nameOf({ monitor }: History, { region, timestamp }: EventFacts): string {
  return `${monitor.plan.key} in ${region} at ${iso(timestamp)}`;
}

/** The checks of a reconnected region. They must be complete unless something disturbs the region again. */
interface Recheck {
  readonly isolation: RegionSpan;
  readonly monitors: NetworkRecord['monitors'];
  /** Checks in the time in which each monitor must have one. */
  readonly events: readonly EventFacts[];
}

function rechecksOf(record: NetworkRecord): Recheck[] {
  const byRegion = groupBy(record.database.events, ({ region }) => region);
  return record.isolations.flatMap((isolation) => {
    const { region, until: from } = isolation;
    const within = { from, until: from + RECHECKED_WITHIN_MS + SLACK_MS };
    const later = [...record.cuts, ...record.kills, ...record.isolations].filter(
      (other) => other !== isolation && other.until > from,
    );
    if (touches(later, region, within) || within.until > record.endedAt) return [];
    const events = (byRegion.get(region) ?? []).filter(
      ({ timestamp, latencyMs }) => timestamp - latencyMs >= from && timestamp <= within.until,
    );
    const monitors = record.monitors.filter(({ plan }) => plan.regions.includes(region));
    return [{ isolation, monitors, events }];
  });
}

function missingRechecks(record: NetworkRecord): string[] {
  return rechecksOf(record).flatMap(({ isolation: { region, until }, monitors, events }) => {
    const checked = new Set(events.map(({ monitorId }) => monitorId));
    return monitors
      .filter(({ id }) => !checked.has(id))
      .map(({ plan }) => `${plan.key} was not checked in ${region} after ${iso(until)}`);
  });
}

function bursts(record: NetworkRecord): string[] {
  return rechecksOf(record).flatMap(({ isolation: { region, until }, monitors, events }) => {
    const rare = new Set(
      monitors.filter(({ plan }) => plan.intervalSeconds > RARE_INTERVAL_SECONDS).map(({ id }) => id),
    );
    const extra = events.filter(({ monitorId }) => rare.has(monitorId));
    const seconds = [...groupBy(extra, ({ timestamp }) => Math.floor(timestamp / 1_000)).values()];
    const busiest = Math.max(0, ...seconds.map(({ length }) => length));
    if (busiest <= Math.max(MAX_PER_SECOND.checks, MAX_PER_SECOND.share * rare.size)) return [];
    return [`${busiest} of ${rare.size} monitors in one second after ${iso(until)} in ${region}`];
  });
}

/** A result waits from the end of its check until it is recorded. The delay of the start counts, too. */
function longWaits(record: NetworkRecord): string[] {
  const disturbed = record.kills.map(({ region, from, until }) => {
    return { region, from: from - KILLED_MS.before, until: until + KILLED_MS.after };
  });
  return historiesOf(record).flatMap((history) =>
    history.events.flatMap((event) => {
      const waitMs = event.slot === null ? 0 : event.timestamp - event.slot - event.latencyMs;
      const isLong = waitMs > PROVEN_WITHIN_MS + SLACK_MS;
      if (!isLong || touches(disturbed, event.region, spanOf(event))) return [];
      return [`${nameOf(history, event)} waited ${(waitMs / 1_000).toFixed(1)} s`];
    }),
  );
}
