import { existing, historiesOf, iso, type History } from './history.ts';
import type { FaultRecord, Check, EventFacts, Evidence, MonitorFacts } from './record.ts';
import { ignoredResponses } from './stretches.ts';

/** The longest time from a response to its event: a checker may freeze, and then Postgres may be unavailable. */
const RECORDED_WITHIN_MS = 60_000;
/** A monitor may be unchecked for this much longer than its interval (docs/concepts/slots.md). */
const GRACE_MS = 15_000;
/** A response that took longer than this was delayed by a fault. */
const DELAYED_MS = 1_000;
/** A check whose lookup began before names resolved again ends by then. */
const NAMES_AFTER_MS = 15_000;
/** A check that was running in a frozen checker ends by then. */
const THAWED_AFTER_MS = 5_000;
/** The schedule of a deleted monitor is removed by then (docs/concepts/slots.md), and its last check has ended. */
const STRAY_MS = 20_000;

export const EVENT_CHECKS: readonly Check<Evidence>[] = [
  ['every event has a request', unfoundedEvents],
  ['a slot is recorded once', repeatedSlots],
];

export const FAULT_EVENT_CHECKS: readonly Check<FaultRecord>[] = [
  ['services recover by themselves', idleReplicas],
  ['accepted changes are kept', wrongMonitors],
  ['lasting responses of a target are seen', ignoredResponses],
  ['deleted monitors are not checked', strayChecks],
  ['every failure has a cause', unexplainedFailures],
  ['no monitor stays unchecked', longUnchecked],
  ['tailing misses and repeats nothing', brokenTails],
];

/** Each event with a status code has a request of its own, to which the target responded with this code shortly before. */
function unfoundedEvents(evidence: Evidence): string[] {
  return historiesOf(evidence).flatMap(({ monitor: { plan }, events, visits }) =>
    (['up', 'down'] as const).flatMap((state) => {
      const free = visits.filter((visit) => visit.state === state).map(({ at }) => at);
      const code = state === 'up' ? 200 : 500;
      return events
        .filter(({ statusCode, url }) => statusCode === code && url === null)
        .filter(({ timestamp }) => {
          const index = free.findIndex((time) => time <= timestamp && time > timestamp - RECORDED_WITHIN_MS);
          if (index >= 0) free.splice(index, 1);
          return index < 0;
        })
        .map(({ timestamp }) => `${plan.key}: no request explains the event ${code} of ${iso(timestamp)}`);
    }),
  );
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

/** The longest time after the last fault in which a monitor had no check in a region. */
interface UncheckedSpan {
  readonly monitor: MonitorFacts;
  readonly region: string;
  readonly ms: number;
  readonly from: number;
}

/** A check counts if it was scheduled and it reached its target, which responded, reset the connection or hung. */
export function uncheckedSpans(record: FaultRecord): UncheckedSpan[] {
  const { lastFaultAt, endedAt } = record;
  return existing(record).flatMap(({ monitor, events, visits }) => {
    const silent = visits.filter(({ respondedAt }) => respondedAt === null);
    const isMet = ({ statusCode, slot, timestamp }: EventFacts): boolean =>
      statusCode !== null || silent.some(({ at }) => at >= (slot ?? timestamp) && at <= timestamp);
    return monitor.plan.regions.map((region) => {
      const stamps = events
        .filter((event) => event.region === region && event.timestamp > lastFaultAt)
        .filter((event) => event.source === 'schedule' && isMet(event))
        .map(({ timestamp }) => timestamp);
      const gaps = gapsOf([Math.max(lastFaultAt, monitor.createdAt), ...stamps, endedAt]);
      return { monitor, region, ...gaps.reduce((one, other) => (other.ms > one.ms ? other : one)) };
    });
  });
}

/** Returns the spans between consecutive times. */
export function gapsOf(times: readonly number[]): { readonly from: number; readonly ms: number }[] {
  return times.slice(1).map((time, index) => {
    const from = times[index] ?? time;
    return { from, ms: time - from };
  });
}

function longUnchecked(record: FaultRecord): string[] {
  return uncheckedSpans(record)
    .filter(({ monitor, ms }) => ms > monitor.plan.intervalSeconds * 1_000 + GRACE_MS)
    .map(({ monitor: { plan }, region, ms, from }) => {
      const what = `${plan.key} (every ${plan.intervalSeconds} s) had no check from ${region}`;
      const span = `for ${Math.round(ms / 1_000)} s after ${iso(from)}`;
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
      .filter((event) => !isExplained(record, history, event))
      .map(({ errorReason, region, timestamp }) => {
        const failure = `${errorReason} from ${region} at ${iso(timestamp)}`;
        return `${history.monitor.plan.key}: ${failure}, which neither its target nor a fault explains`;
      }),
  );
}

function isExplained(
  { faults, replicas }: FaultRecord,
  { monitor, visits }: History,
  { slot, timestamp, region }: EventFacts,
): boolean {
  const from = slot ?? timestamp - RECORDED_WITHIN_MS;
  const met = visits.filter(({ at }) => at >= from && at <= timestamp);
  if (met.some(({ at, respondedAt }) => respondedAt === null || respondedAt - at > DELAYED_MS)) return true;
  return faults.some(({ name, victim, firedAt, endedAt }) => {
    if (firedAt === null || firedAt > timestamp) return false;
    const lastedUntil = endedAt ?? Infinity;
    if (name.startsWith('dns-')) return monitor.plan.byName && lastedUntil + NAMES_AFTER_MS >= from;
    if (!name.startsWith('stop-checker-')) return false;
    const isOfRegion = replicas.find((replica) => replica.name === victim)?.region === region;
    return isOfRegion && lastedUntil + THAWED_AFTER_MS >= from;
  });
}

/** Postgres has exactly the monitors that were created and not deleted, with their last edits. */
function wrongMonitors({ monitors, promised, database }: FaultRecord): string[] {
  const stored = new Map(database.monitors.map((monitor) => [monitor.id, monitor]));
  const known = new Set(monitors.map(({ id }) => id));
  const wrong = monitors.flatMap(({ id, plan, deletedAt, names, thresholds }) => {
    const found = stored.get(id);
    if (deletedAt !== null) return found === undefined ? [] : [`${plan.key} was deleted, but exists`];
    if (found === undefined) return [`${plan.key} was created, but does not exist`];
    const actual = `${found.name}, threshold ${found.failureThreshold}`;
    const wanted = `${names.at(-1)}, threshold ${thresholds.at(-1)?.value ?? plan.failureThreshold}`;
    return actual === wanted ? [] : [`${plan.key} is called ${actual}, not ${wanted}`];
  });
  const unknown = database.monitors.filter(({ id }) => !known.has(id));
  const lost = promised.filter(({ id }) => !known.has(id));
  return [
    ...wrong,
    ...unknown.map(({ id }) => `unknown monitor ${id}`),
    ...lost.map(({ id, key }) => `an api created ${key} as ${id}, which was lost`),
  ];
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

/** After the last fault each checker checks and each notifier sends. Otherwise, another replica would hide an idle one. */
function idleReplicas({ replicas, visits, receipts, lastFaultAt }: FaultRecord): string[] {
  const workers = new Set(
    [...visits, ...receipts].filter(({ at }) => at > lastFaultAt).map(({ address }) => address),
  );
  return replicas
    .filter(({ service, address }) => service !== 'api' && !workers.has(address))
    .map(({ name }) => `${name} did nothing after the last fault`);
}
