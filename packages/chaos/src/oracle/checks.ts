import type { TargetVisit } from '../world/targets.ts';
import { existing, groupBy, historiesOf, iso, type History } from './history.ts';
import type { CampaignRecord, EventFacts, Evidence, MonitorFacts } from './record.ts';

/** The longest time from a response of a target to its event: a frozen checker, followed by a Postgres that is unavailable. */
const RECORDED_WITHIN_MS = 60_000;
/** How much longer than its interval a monitor may be unchecked (docs/reference/slots.md). */
const GRACE_MS = 15_000;

function visitsByKey({ visits }: Evidence): Map<string, TargetVisit[]> {
  return groupBy(visits, ({ key }) => key);
}

/** Each event with a status code has a request of its own, to which the target sent that code shortly before. */
export function unfoundedEvents(evidence: Evidence): string[] {
  const visits = visitsByKey(evidence);
  return historiesOf(evidence).flatMap(({ monitor: { plan }, events }) =>
    (['up', 'down'] as const).flatMap((state) => {
      const free = (visits.get(plan.key) ?? []).filter((visit) => visit.state === state).map(({ at }) => at);
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

/** A slot of a monitor in a region is recorded once. */
export function repeatedSlots({ database }: Evidence): string[] {
  const seen = new Set<string>();
  return database.events.flatMap(({ monitorId, region, slot, id }) => {
    if (slot === null) return [];
    const key = `${monitorId} ${region} ${slot}`;
    if (seen.has(key)) return [`event ${id} repeats the slot ${iso(slot)} of ${monitorId} in ${region}`];
    seen.add(key);
    return [];
  });
}

/** The longest time without a check of a monitor in a region after the last fault. */
interface UncheckedSpan {
  readonly monitor: MonitorFacts;
  readonly region: string;
  readonly ms: number;
  readonly from: number;
}

/** A check counts if the schedule asked for it and it reached its target, which responded, reset the connection or hung. */
export function uncheckedSpans(record: CampaignRecord): UncheckedSpan[] {
  const visits = visitsByKey(record);
  const { lastFaultAt, endedAt } = record;
  return existing(record).flatMap(({ monitor, events }) => {
    const silent = (visits.get(monitor.plan.key) ?? []).filter(({ respondedAt }) => respondedAt === null);
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

/** The spans between consecutive times. */
export function gapsOf(times: readonly number[]): { readonly from: number; readonly ms: number }[] {
  return times.slice(1).map((time, index) => {
    const from = times[index] ?? time;
    return { from, ms: time - from };
  });
}

/** After the last fault no monitor is unchecked for longer than its interval and 15 s. */
export function longUnchecked(record: CampaignRecord): string[] {
  return uncheckedSpans(record)
    .filter(({ monitor, ms }) => ms > monitor.plan.intervalSeconds * 1_000 + GRACE_MS)
    .map(({ monitor: { plan }, region, ms, from }) => {
      const seconds = Math.round(ms / 1_000);
      const what = `${plan.key} (every ${plan.intervalSeconds} s) had no check from ${region} for ${seconds} s`;
      return `${what} after ${iso(from)}; the last fault ended at ${iso(record.lastFaultAt)}`;
    });
}

/** A client that polls with `since` receives each event once, in order. */
export function brokenTails(record: CampaignRecord): string[] {
  return existing(record).flatMap(({ monitor: { id, plan }, events }) => {
    const stored = events.map((event) => event.id);
    const tailed = record.tails.get(id) ?? [];
    if (tailed.length > 0 && tailed.join() === stored.join()) return [];
    const missing = stored.filter((event) => !tailed.includes(event)).length;
    const twice = tailed.length - new Set(tailed).size;
    const counts = `${tailed.length} events received, ${stored.length} stored`;
    return [`${plan.key}: ${counts}; ${missing} missing, ${twice} repeated`];
  });
}

/** A target that took so long to respond was held by a fault. */
const HELD_MS = 1_000;
/** A lookup that began before names resolved again ends by then, and with it the check that waits for it. */
const NAMES_AFTER_MS = 15_000;
/** A check that was under way in a frozen checker ends by then. */
const THAWED_AFTER_MS = 5_000;

/** Each check that failed without a response is explained by its target, by failing DNS, or by a frozen checker. */
export function unexplainedFailures(record: CampaignRecord): string[] {
  const visits = visitsByKey(record);
  return historiesOf(record).flatMap(({ monitor, events }) =>
    events
      .filter(({ status, statusCode }) => status === 'DOWN' && statusCode === null)
      .filter((event) => {
        const from = event.slot ?? event.timestamp - RECORDED_WITHIN_MS;
        const isTarget = (visits.get(monitor.plan.key) ?? []).some(
          ({ at, respondedAt }) =>
            at >= from && at <= event.timestamp && (respondedAt === null || respondedAt - at > HELD_MS),
        );
        return !isTarget && !isCausedByFault(record, monitor, event, from);
      })
      .map(({ errorReason, region, timestamp }) => {
        const failure = `${errorReason} from ${region} at ${iso(timestamp)}`;
        return `${monitor.plan.key}: ${failure}, which neither its target nor a fault explains`;
      }),
  );
}

function isCausedByFault(
  { faults, replicas }: CampaignRecord,
  { plan }: MonitorFacts,
  event: EventFacts,
  from: number,
): boolean {
  return faults.some(({ name, victim, firedAt, endedAt }) => {
    if (firedAt === null || firedAt > event.timestamp) return false;
    const lastedUntil = endedAt ?? Infinity;
    if (name.startsWith('dns-')) return plan.byName && lastedUntil + NAMES_AFTER_MS >= from;
    if (!name.startsWith('stop-checker-')) return false;
    const region = replicas.find((replica) => replica.name === victim)?.region;
    return region === event.region && lastedUntil + THAWED_AFTER_MS >= from;
  });
}

/** Postgres has exactly the monitors that were created and not deleted, as they were last edited. */
export function wrongMonitors({ monitors, promised, database }: CampaignRecord): string[] {
  const stored = new Map(database.monitors.map((monitor) => [monitor.id, monitor]));
  const known = new Set(monitors.map(({ id }) => id));
  return [
    ...monitors.flatMap(({ id, plan, deletedAt, names, thresholds }) => {
      const found = stored.get(id);
      if (deletedAt !== null) return found === undefined ? [] : [`${plan.key} was deleted, but exists`];
      if (found === undefined) return [`${plan.key} was created, but does not exist`];
      const name = names.at(-1);
      const threshold = thresholds.at(-1)?.value ?? plan.failureThreshold;
      if (found.name === name && found.failureThreshold === threshold) return [];
      return [
        `${plan.key} is called ${found.name}, threshold ${found.failureThreshold}, not ${name}, ${threshold}`,
      ];
    }),
    ...database.monitors.filter(({ id }) => !known.has(id)).map(({ id }) => `unknown monitor ${id}`),
    ...promised
      .filter(({ id }) => !known.has(id))
      .map(({ id, key }) => `an api created ${key} as ${id}, which was lost`),
  ];
}

/** Consecutive responses of one kind: every failure is the same kind. */
interface Stretch {
  readonly status: 'UP' | 'DOWN';
  readonly count: number;
  readonly from: number;
  readonly to: number;
  /** When the next stretch of its kind begins. */
  readonly nextAt: number;
}

/** A fault may take a result with it, such as a killed checker's: of this many responses beyond those that decide, one is left. */
const SPARE_RESPONSES = 3;
/** A check that is repeated after a fault says no more than the first one. */
const MIN_STRETCH_MS = 8_000;
/** Results that waited for a frozen checker or for Postgres are recorded by then. */
const SHOWN_WITHIN_MS = 30_000;
/** The last results before a deletion may wait this long, and are then deleted too. */
const LAST_RESULTS_MS = 15_000;

/**
 * What a target keeps responding shows in the status of its monitor if one region decides, otherwise in its events. This compares the
 * targets' own log: a result that was dropped has left nothing in the tables to be judged by.
 */
export function ignoredResponses(evidence: Evidence): string[] {
  const visits = visitsByKey(evidence);
  return historiesOf(evidence).flatMap((history) => {
    const isShown = showing(history);
    if (isShown === null) return [];
    const { key } = history.monitor.plan;
    return stretchesOf(history.monitor, visits.get(key) ?? [])
      .filter((stretch) => isLong(history.monitor, stretch) && !isShown(stretch))
      .map(({ status, count, from, to }) => {
        const span = `from ${iso(from)} to ${iso(to)}`;
        return `${key}: ${count} responses that mean ${status}, ${span}, show nowhere`;
      });
  });
}

function stretchesOf({ deletedAt }: MonitorFacts, visits: readonly TargetVisit[]): Stretch[] {
  const until = deletedAt === null ? Infinity : deletedAt - LAST_RESULTS_MS;
  const runs: TargetVisit[][] = [];
  for (const visit of visits.filter(({ at }) => at < until).toSorted((one, other) => one.at - other.at)) {
    const run = runs.at(-1);
    if (run?.[0] !== undefined && isUp(run[0]) === isUp(visit)) run.push(visit);
    else runs.push([visit]);
  }
  return runs.flatMap((run, index) => {
    const [first, last] = [run[0], run.at(-1)];
    if (first === undefined || last === undefined) return [];
    const nextAt = runs[index + 2]?.[0]?.at ?? Infinity;
    return [{ status: isUp(first) ? 'UP' : 'DOWN', count: run.length, from: first.at, to: last.at, nextAt }];
  });
}

function isUp({ state }: TargetVisit): boolean {
  return state === 'up';
}

function isLong({ plan, thresholds }: MonitorFacts, { status, count, from, to }: Stretch): boolean {
  const threshold = Math.max(plan.failureThreshold, ...thresholds.map(({ value }) => value));
  const deciding = status === 'DOWN' ? threshold : 1;
  return count >= deciding + SPARE_RESPONSES && to - from >= MIN_STRETCH_MS;
}

/** Whether a stretch shows; null if it need not, because the events of a deleted monitor are deleted with it. */
function showing({ monitor, events, changes, maintained }: History): ((stretch: Stretch) => boolean) | null {
  const isInEvents = (stretch: Stretch): boolean =>
    events.some(({ timestamp, status }) => status === stretch.status && isWithin(stretch, timestamp));
  // An edit of the URL resets the streaks.
  if (monitor.plan.regions.length > 1 || monitor.plan.fate === 'moved')
    return monitor.deletedAt === null ? isInEvents : null;
  const isCovered = ({ from, nextAt }: Stretch): boolean =>
    maintained.some(({ enteredAt, leftAt }) => enteredAt <= nextAt && (leftAt ?? Infinity) >= from);
  return (stretch) =>
    (changes.findLast(({ timestamp }) => timestamp < stretch.from)?.to ?? monitor.initialStatus) ===
      stretch.status ||
    changes.some(({ timestamp, to }) => to === stretch.status && isWithin(stretch, timestamp)) ||
    (isCovered(stretch) && isInEvents(stretch));
}

function isWithin({ from, to, nextAt }: Stretch, time: number): boolean {
  return time >= from && time <= Math.min(to + SHOWN_WITHIN_MS, nextAt);
}

/** A schedule of a deleted monitor is removed by then (docs/reference/slots.md), and its last check has ended. */
const STRAY_MS = 20_000;

/** Deleted monitors are not checked. */
export function strayChecks(record: CampaignRecord): string[] {
  const visits = visitsByKey(record);
  return record.monitors.flatMap(({ plan, deletedAt }) => {
    if (deletedAt === null) return [];
    const since = Math.max(record.lastFaultAt, deletedAt) + STRAY_MS;
    const late = (visits.get(plan.key) ?? []).filter(({ at }) => at > since).length;
    return late === 0
      ? []
      : [`${plan.key} was deleted at ${iso(deletedAt)}, but was checked ${late} times after ${iso(since)}`];
  });
}

/** After the last fault each checker checks and each notifier sends: an idle one would be hidden by another of its kind. */
export function idleReplicas({ replicas, visits, receipts, lastFaultAt }: CampaignRecord): string[] {
  const work = { api: null, checker: visits, notifier: receipts } as const;
  return replicas
    .filter(({ service, address }) => {
      const seen: readonly { readonly address: string; readonly at: number }[] | null = work[service];
      return seen !== null && !seen.some((one) => one.address === address && one.at > lastFaultAt);
    })
    .map(({ name }) => `${name} did nothing after the last fault`);
}
