import { groupBy, iso } from '../oracle/history.ts';
import type { Check } from '../oracle/record.ts';
import type { CheckFacts, NetworkRecord, Span } from './record.ts';
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

type Isolation = NetworkRecord['isolations'][number];

/** Monitors whose regular checks are so rare that a check after an isolation is extra. */
const RARE_INTERVAL_SECONDS = 20;
/** The share of the extra checks, and their number, that one second may have. They are spread over 20 s. */
const MAX_PER_SECOND = { share: 0.35, checks: 10 } as const;
/** Packet loss alone isolates a region for at most this long. */
const MAX_LOSSY_ISOLATION_MS = 10_000;
/** Before a kill, and after the start of the next checker, results may wait for the jobs of the killed one. */
const KILLED_MS = { before: 15_000, after: 30_000 } as const;

function overlaps(one: Span, other: Span): boolean {
  return one.from <= other.until && other.from <= one.until;
}

/** Whether a region is or was just cut off at some time of a span. */
function isCutOff({ cuts }: NetworkRecord, region: string, span: Span): boolean {
  return cuts.some(
    (cut) =>
      cut.region === region && overlaps(span, { from: cut.from, until: cut.until + RECONNECTED_WITHIN_MS }),
  );
}

function wrongIsolations(record: NetworkRecord): string[] {
  return record.isolations
    .filter(({ region, from, until }) => {
      const isLossy = record.losses.some((loss) => loss.region === region && overlaps(loss, { from, until }));
      const isBrief = until - from <= MAX_LOSSY_ISOLATION_MS;
      return !isCutOff(record, region, { from, until: from }) && !(isLossy && isBrief);
    })
    .map(({ region, from, until }) => `${region} was isolated from ${iso(from)} to ${iso(until)}`);
}

/** From the start of each long cut until its region is isolated, in milliseconds; null if it is not isolated. */
export function noticeTimes({ cuts, isolations }: NetworkRecord): { at: Isolation; ms: number | null }[] {
  return cuts
    .filter(({ from, until }) => until - from >= NOTICED_WITHIN_MS)
    .map((cut) => {
      const found = isolations.find(({ region, ...span }) => region === cut.region && overlaps(span, cut));
      return { at: cut, ms: found === undefined ? null : Math.max(0, found.from - cut.from) };
    });
}

function missedCuts(record: NetworkRecord): string[] {
  return noticeTimes(record)
    .filter(({ ms }) => ms === null)
    .map(
      ({ at: { region, from, until } }) => `${region} was not isolated from ${iso(from)} to ${iso(until)}`,
    );
}

/** The time of a check, from its slot or its start until it was recorded. */
function spanOf({ slot, timestamp, latencyMs }: CheckFacts): Span {
  return { from: slot ?? timestamp - latencyMs - PROVEN_WITHIN_MS, until: timestamp };
}

/** Returns the inconclusive results outside of isolations. Only a second probe can have made them doubtful. */
export function doubtfulOf(record: NetworkRecord): CheckFacts[] {
  return record.events
    .filter(({ inconclusive }) => inconclusive)
    .filter((event) => {
      const span = spanOf(event);
      const isIsolated = record.isolations.some((one) => one.region === event.region && overlaps(one, span));
      return !isIsolated && !isCutOff(record, event.region, span);
    });
}

/** Whether a target that did not respond to a check may have responded to a second probe. */
function mayRespondAgain({ losses, monitors }: NetworkRecord, event: CheckFacts): boolean {
  const span = spanOf(event);
  const { outages = [], sleeps = false } = monitors.find(({ id }) => id === event.monitorId) ?? {};
  return (
    sleeps ||
    outages.some(
      (outage) => overlaps(outage, span) && (outage.kind === 'cold' || outage.until <= span.until),
    ) ||
    losses.some((loss) => loss.region === event.region && overlaps(loss, span))
  );
}

function wrongInconclusives(record: NetworkRecord): string[] {
  const keys = new Map(record.monitors.map(({ id, key }) => [id, key]));
  const doubtful = new Set(doubtfulOf(record));
  const byState = groupBy(record.events, ({ monitorId, region }) => `${monitorId} ${region}`);
  return [...byState.values()].flatMap((events) =>
    events
      .filter((event, index) => {
        const previous = events[index - 1];
        const isRepeated = previous !== undefined && doubtful.has(previous);
        return doubtful.has(event) && (isRepeated || !mayRespondAgain(record, event));
      })
      .map(({ monitorId, region, timestamp }) => `${keys.get(monitorId)} in ${region} at ${iso(timestamp)}`),
  );
}

/** The checks of a reconnected region that must be complete, because nothing disturbs it meanwhile. */
interface Recheck {
  readonly isolation: Isolation;
  /** The monitors of the region. */
  readonly monitors: NetworkRecord['monitors'];
  /** Their checks in the time in which each must have one. */
  readonly events: readonly CheckFacts[];
}

export function rechecksOf(record: NetworkRecord): Recheck[] {
  const byRegion = groupBy(record.events, ({ region }) => region);
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
    const monitors = record.monitors.filter(({ regions }) => regions.includes(region));
    return [{ isolation, monitors, events }];
  });
}

function missingRechecks(record: NetworkRecord): string[] {
  return rechecksOf(record).flatMap(({ isolation: { region, until }, monitors, events }) => {
    const checked = new Set(events.map(({ monitorId }) => monitorId));
    return monitors
      .filter(({ id }) => !checked.has(id))
      .map(({ key }) => `${key} was not checked in ${region} after ${iso(until)}`);
  });
}

/** How many extra checks a reconnected region recorded in its busiest second. */
export function busiestSecond({ monitors, events }: Recheck): {
  readonly checks: number;
  readonly of: number;
} {
  const rare = new Set(
    monitors.filter(({ intervalSeconds }) => intervalSeconds > RARE_INTERVAL_SECONDS).map(({ id }) => id),
  );
  const extra = events.filter(({ monitorId }) => rare.has(monitorId));
  const seconds = [...groupBy(extra, ({ timestamp }) => Math.floor(timestamp / 1_000)).values()];
  return { checks: Math.max(0, ...seconds.map(({ length }) => length)), of: rare.size };
}

function bursts(record: NetworkRecord): string[] {
  return rechecksOf(record).flatMap((recheck) => {
    const { checks, of } = busiestSecond(recheck);
    if (checks <= Math.max(MAX_PER_SECOND.checks, MAX_PER_SECOND.share * of)) return [];
    const { region, until } = recheck.isolation;
    return [`${checks} of ${of} monitors in one second after ${iso(until)} in ${region}`];
  });
}

/** How long each result waited from the end of its check until it was recorded, with the delay of its start; milliseconds. */
export function waitsOf({
  events,
  kills,
}: NetworkRecord): { readonly event: CheckFacts; readonly ms: number }[] {
  const disturbed = kills.map(({ region, from, until }) => ({
    region,
    from: from - KILLED_MS.before,
    until: until + KILLED_MS.after,
  }));
  return events
    .filter((event) => !disturbed.some((one) => one.region === event.region && overlaps(one, spanOf(event))))
    .flatMap((event) =>
      event.slot === null ? [] : [{ event, ms: event.timestamp - event.slot - event.latencyMs }],
    );
}

function longWaits(record: NetworkRecord): string[] {
  const keys = new Map(record.monitors.map(({ id, key }) => [id, key]));
  return waitsOf(record)
    .filter(({ ms }) => ms > PROVEN_WITHIN_MS + SLACK_MS)
    .map(({ event: { monitorId, region, timestamp }, ms }) => {
      return `${keys.get(monitorId)} in ${region} at ${iso(timestamp)} waited ${(ms / 1_000).toFixed(1)} s`;
    });
}
