import { existing, gapsOver, groupBy, historiesOf, iso, overlaps, type History } from './history.ts';
import type { Check, EventFacts, Evidence, FaultRecord, MonitorFacts, Span } from './record.ts';

/**
 * An event may follow its response this late, because the checker may freeze and Postgres may be unavailable after that, or the agent may
 * be disconnected.
 */
const RECORDED_WITHIN_MS = 120_000;
/** A monitor may be unchecked for this much longer than its interval (docs/concepts/slots.md). */
export const GRACE_MS = 15_000;
/** A response that took longer than this was delayed by a fault. */
const DELAYED_MS = 1_000;
/** A check that began during a DNS fault ends at most this long after the fault. */
const NAMES_AFTER_MS = 15_000;
/** A check that was running when its checker froze ends at most this long after the checker resumes. */
const THAWED_AFTER_MS = 5_000;
/** A deleted monitor may be checked for this long, until its schedule is removed (docs/concepts/slots.md) and its last check has ended. */
const STRAY_MS = 20_000;

export const EVENT_CHECKS: readonly Check<Evidence>[] = [
  ['every event has a request', unfoundedEvents],
  ['a slot is recorded once', repeatedSlots],
];

export const FAULT_EVENT_CHECKS: readonly Check<FaultRecord>[] = [
  ['services recover by themselves', idleReplicas],
  ['deleted monitors are not checked', strayChecks],
  ['every failure has a cause', unexplainedFailures],
  ['no monitor stays unchecked', longUnchecked],
  ['tailing misses and repeats nothing', brokenTails],
  ['counters of checks never decrease', decreasingCounters],
  ['counters of checks equal the events', wrongCounters],
];

/** Each event with a status code needs its own request, to which the target responded with this code shortly before. */
function unfoundedEvents(evidence: Evidence): string[] {
  return historiesOf(evidence).flatMap(({ monitor: { plan }, events, visits }) => {
    const free = groupBy(visits, ({ state }) => state);
    return events
      .filter(({ statusCode, url }) => url === null && (statusCode === 200 || statusCode === 500))
      .filter(({ statusCode, timestamp }) => {
        const own = free.get(statusCode === 200 ? 'up' : 'down') ?? [];
        const index = own.findIndex(({ at }) => at <= timestamp && at > timestamp - RECORDED_WITHIN_MS);
        if (index >= 0) own.splice(index, 1);
        return index < 0;
      })
      .map(({ statusCode, timestamp }) => {
        return `${plan.key}: no request explains the event ${statusCode} of ${iso(timestamp)}`;
      });
  });
}

function repeatedSlots({ database }: Evidence): string[] {
  const seen = new Set<string>();
  return database.events.flatMap(({ monitorId, region, slot, id }) => {
    if (slot === null) return [];
    const key = `${monitorId} ${region} ${slot}`;
    if (seen.has(key)) return [`event ${id} repeats the slot ${iso(slot)} of ${monitorId} in ${region}`];
    seen.add(key);
    return [];
  });
}

/** Longest time after the last fault in which a monitor had no check in a region. */
interface UncheckedSpan extends Span {
  readonly monitor: MonitorFacts;
  readonly region: string;
}

/** A check counts if it was scheduled and it reached its target, which responded, reset the connection or hung. */
export function uncheckedSpans(record: FaultRecord): UncheckedSpan[] {
  const { lastFaultAt, endedAt } = record;
  return existing(record).flatMap(({ monitor, events, visits }) => {
    const silent = visits.filter(({ respondedAt }) => respondedAt === null);
    const isMet = ({ statusCode, slot, timestamp }: EventFacts): boolean =>
      statusCode !== null || silent.some(({ at }) => at >= (slot ?? timestamp) && at <= timestamp);
    return monitor.plan.regions.flatMap((region) => {
      const stamps = events
        .filter((event) => event.region === region && event.timestamp > lastFaultAt)
        .filter((event) => event.source === 'schedule' && isMet(event))
        .map(({ timestamp }) => timestamp);
      const gaps = gapsOver(-Infinity, [Math.max(lastFaultAt, monitor.createdAt), ...stamps, endedAt]);
      const [longest] = gaps.toSorted((one, other) => other.until - other.from - (one.until - one.from));
      return longest === undefined ? [] : [{ monitor, region, ...longest }];
    });
  });
}

function longUnchecked(record: FaultRecord): string[] {
  return uncheckedSpans(record)
    .filter(({ monitor, from, until }) => until - from > monitor.plan.intervalSeconds * 1_000 + GRACE_MS)
    .map(({ monitor: { plan }, region, from, until }) => {
      const what = `${plan.key} (every ${plan.intervalSeconds} s) had no check from ${region}`;
      const span = `for ${Math.round((until - from) / 1_000)} s after ${iso(from)}`;
      return `${what} ${span}; the last fault ended at ${iso(record.lastFaultAt)}`;
    });
}

/** A client that polls with `since` receives each event once, in order. */
function brokenTails(record: FaultRecord): string[] {
  return existing(record).flatMap(({ monitor: { id, plan }, events }) => {
    const stored = events.map((event) => event.id);
    const tailed = record.tails.get(id) ?? [];
    if (tailed.length > 0 && tailed.join() === stored.join()) return [];
    const missing = stored.filter((event) => !tailed.includes(event)).length;
    const repeated = tailed.length - new Set(tailed).size;
    const counts = `${tailed.length} events received, ${stored.length} stored`;
    return [`${plan.key}: ${counts}; ${missing} missing, ${repeated} repeated`];
  });
}

/** A check may fail without a response because of its target, failing DNS, or a frozen checker. */
function unexplainedFailures(record: FaultRecord): string[] {
  return historiesOf(record).flatMap((history) =>
    history.events
      .filter(({ status, statusCode }) => status === 'DOWN' && statusCode === null)
      .filter((event) => {
        const { slot, timestamp } = event;
        const span = { from: slot ?? timestamp - RECORDED_WITHIN_MS, until: timestamp };
        return !causesOf(record, history, event).some((cause) => overlaps(cause, span));
      })
      .map(({ errorReason, region, timestamp }) => {
        const failure = `${errorReason} from ${region} at ${iso(timestamp)}`;
        return `${history.monitor.plan.key}: ${failure}, which neither its target nor a fault explains`;
      }),
  );
}

/** Returns the times in which a check of this region may get no response. */
function causesOf(
  { faults, replicas }: FaultRecord,
  { monitor, visits }: History,
  { region }: EventFacts,
): Span[] {
  const unanswered = visits
    .filter(({ at, respondedAt }) => respondedAt === null || respondedAt - at > DELAYED_MS)
    .map(({ at }) => ({ from: at, until: at }));
  const disturbed = faults.flatMap(({ name, victim, firedAt, endedAt }) => {
    if (firedAt === null) return [];
    const frozen = name.startsWith('stop-checker-') ? victim : null;
    const isFrozen = replicas.some((replica) => replica.name === frozen && replica.region === region);
    const afterMs =
      name.startsWith('dns-') && monitor.plan.byName ? NAMES_AFTER_MS : isFrozen ? THAWED_AFTER_MS : null;
    return afterMs === null ? [] : [{ from: firedAt, until: endedAt + afterMs }];
  });
  return [...unanswered, ...disturbed];
}

function strayChecks(record: FaultRecord): string[] {
  return historiesOf(record).flatMap(({ monitor: { plan, deletedAt }, visits }) => {
    if (deletedAt === null) return [];
    const since = Math.max(record.lastFaultAt, deletedAt) + STRAY_MS;
    const late = visits.filter(({ at }) => at > since).length;
    if (late === 0) return [];
    return [
      `${plan.key} was deleted at ${iso(deletedAt)}, but was checked ${late} times after ${iso(since)}`,
    ];
  });
}

/** After the last fault, every checker must check and every notifier must send. Otherwise, another replica would hide an idle one. */
function idleReplicas({ replicas, visits, receipts, lastFaultAt }: FaultRecord): string[] {
  const workers = new Set(
    [...visits, ...receipts].filter(({ at }) => at > lastFaultAt).map(({ address }) => address),
  );
  return replicas
    .filter(({ service, address }) => service !== 'api' && !workers.has(address))
    .map(({ name }) => `${name} did nothing after the last fault`);
}

/** Counters do not depend on the api that returns them. */
function decreasingCounters({ scrapes }: FaultRecord): string[] {
  return scrapes.slice(1).flatMap(({ api, counters }, index) => {
    const before = scrapes[index];
    return [...counters].flatMap(([key, count]) => {
      const earlier = before?.counters.get(key) ?? 0;
      return count < earlier ? [`${key}: ${earlier} from ${before?.api}, then ${count} from ${api}`] : [];
    });
  });
}

/** In the last scrape of each api, counters equal the number of recorded events. */
function wrongCounters(record: FaultRecord): string[] {
  const last = [...new Map(record.scrapes.map((scrape) => [scrape.api, scrape])).values()];
  if (last.length === 0) return ['nothing was scraped'];
  return existing(record).flatMap(({ monitor: { id, plan }, events }) =>
    plan.regions.flatMap((region) => {
      const own = events.filter((event) => event.region === region && event.url === null);
      return ['up', 'down', 'inconclusive'].flatMap((result) => {
        const key = `${id} ${region} ${result}`;
        const count = own.filter((event) => resultOf(event) === result).length;
        return last
          .filter(({ counters }) => counters.get(key) !== count)
          .map(
            ({ api, counters }) =>
              `${plan.key}: ${counters.get(key)} from ${api} for ${count} events (${key})`,
          );
      });
    }),
  );
}

function resultOf({ inconclusive, status }: EventFacts): string {
  return inconclusive ? 'inconclusive' : status.toLowerCase();
}
