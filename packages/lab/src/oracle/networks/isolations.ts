import { groupBy, iso } from '../history.ts';
import type { Check, EventFacts, NetworkRecord, RegionSpan, Span } from '../record.ts';
import {
  NOTICED_WITHIN_MS,
  PROVEN_WITHIN_MS,
  RECHECKED_WITHIN_MS,
  RECONNECTED_WITHIN_MS,
  SLACK_MS,
} from './visibility.ts';

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

/** With a longer interval, a check soon after an isolation is extra. */
const RARE_INTERVAL_SECONDS = 20;
/** The largest share and number of the extra checks in one second. They are spread over 20 s. */
const MAX_PER_SECOND = { share: 0.35, checks: 10 } as const;
/** Packet loss alone isolates a region for at most this long. */
const MAX_LOSSY_ISOLATION_MS = 10_000;
/** Before a kill and after the next start of a checker, results may wait for the jobs of the killed checker. */
const KILLED_MS = { before: 15_000, after: 30_000 } as const;

function overlaps(one: Span, other: Span): boolean {
  return one.from <= other.until && other.from <= one.until;
}

/** Whether a region was cut off, or just had been, at some time of a span. */
function isCutOff({ cuts }: NetworkRecord, region: string, span: Span): boolean {
  return cuts.some(
    (cut) =>
      cut.region === region && overlaps(span, { from: cut.from, until: cut.until + RECONNECTED_WITHIN_MS }),
  );
}

function describe({ from, until }: Span): string {
  return `isolated from ${iso(from)} to ${iso(until)}`;
}

function wrongIsolations(record: NetworkRecord): string[] {
  return record.isolations
    .filter(({ region, from, until }) => {
      const isLossy = record.losses.some((loss) => loss.region === region && overlaps(loss, { from, until }));
      const isBrief = until - from <= MAX_LOSSY_ISOLATION_MS;
      return !isCutOff(record, region, { from, until: from }) && !(isLossy && isBrief);
    })
    .map((isolation) => `${isolation.region} was ${describe(isolation)}`);
}

function missedCuts({ cuts, isolations }: NetworkRecord): string[] {
  return cuts
    .filter(({ from, until }) => until - from >= NOTICED_WITHIN_MS)
    .filter((cut) => !isolations.some((one) => one.region === cut.region && overlaps(one, cut)))
    .map((cut) => `${cut.region} was not ${describe(cut)}`);
}

/** The time from the slot or the start of a check until it was recorded. */
function spanOf({ slot, timestamp, latencyMs }: EventFacts): Span {
  return { from: slot ?? timestamp - latencyMs - PROVEN_WITHIN_MS, until: timestamp };
}

/** Whether a result is inconclusive outside of isolations. Only a second probe can have made it doubtful. */
function isDoubtful(record: NetworkRecord, event: EventFacts): boolean {
  const span = spanOf(event);
  if (!event.inconclusive || isCutOff(record, event.region, span)) return false;
  return !record.isolations.some((one) => one.region === event.region && overlaps(one, span));
}

/** Whether a target that did not respond to a check may have responded to the second probe. */
function mayRespondAgain({ losses, monitors }: NetworkRecord, event: EventFacts): boolean {
  const span = spanOf(event);
  const { outages = [], sleeps = false } = monitors.find(({ id }) => id === event.monitorId)?.plan ?? {};
  return (
    sleeps ||
    outages.some(
      (outage) => overlaps(outage, span) && (outage.kind === 'cold' || outage.until <= span.until),
    ) ||
    losses.some((loss) => loss.region === event.region && overlaps(loss, span))
  );
}

function wrongInconclusives(record: NetworkRecord): string[] {
  const byState = groupBy(record.database.events, ({ monitorId, region }) => `${monitorId} ${region}`);
  return [...byState.values()].flatMap((events) =>
    events
      .filter((event, index) => {
        if (!isDoubtful(record, event)) return false;
        const previous = events[index - 1];
        const isRepeated = previous !== undefined && isDoubtful(record, previous);
        return isRepeated || !mayRespondAgain(record, event);
      })
      .map((event) => nameOf(record, event)),
  );
}

function nameOf({ monitors }: NetworkRecord, { monitorId, region, timestamp }: EventFacts): string {
  const key = monitors.find(({ id }) => id === monitorId)?.plan.key;
  return `${key} in ${region} at ${iso(timestamp)}`;
}

/** The checks of a reconnected region, which must be complete unless something disturbs the region again. */
interface Recheck {
  readonly isolation: RegionSpan;
  readonly monitors: NetworkRecord['monitors'];
  /** Checks in the time in which each monitor must have one. */
  readonly events: readonly EventFacts[];
}

function rechecksOf(record: NetworkRecord): Recheck[] {
  const byRegion = groupBy(record.database.events, ({ region }) => region);
  return record.isolations.flatMap((isolation) => {
    const { region, until: endedAt } = isolation;
    const within = { from: endedAt, until: endedAt + RECHECKED_WITHIN_MS + SLACK_MS };
    const disturbed = [...record.cuts, ...record.kills, ...record.isolations].some(
      (other) =>
        other !== isolation && other.region === region && other.until > endedAt && overlaps(other, within),
    );
    if (disturbed || within.until > record.endedAt) return [];
    const events = (byRegion.get(region) ?? []).filter(
      ({ timestamp, latencyMs }) => timestamp - latencyMs >= within.from && timestamp <= within.until,
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
  const disturbed = record.kills.map(({ region, from, until }) => ({
    region,
    from: from - KILLED_MS.before,
    until: until + KILLED_MS.after,
  }));
  return record.database.events
    .filter((event) => !disturbed.some((one) => one.region === event.region && overlaps(one, spanOf(event))))
    .flatMap((event) => {
      const waitMs = event.slot === null ? 0 : event.timestamp - event.slot - event.latencyMs;
      if (waitMs <= PROVEN_WITHIN_MS + SLACK_MS) return [];
      return [`${nameOf(record, event)} waited ${(waitMs / 1_000).toFixed(1)} s`];
    });
}
