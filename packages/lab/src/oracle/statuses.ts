import { isDeepStrictEqual } from 'node:util';
import type { WebhookPayload } from '@tocsin/contracts/deliveries/webhook';
import { MAX_CLOCK_OFFSET_MS } from '@tocsin/core/schedule/slots';
import { existing, historiesOf, iso, type History } from './history.ts';
import { comparedFields, expectedChanges, webhookEventsOf, type ExpectedChange } from './model.ts';
import type {
  Check,
  Evidence,
  FaultRecord,
  NetworkRecord,
  RolloutRecord,
  StatusChangeFacts,
} from './record.ts';

/** A status change and its webhook events get the next timestamps after the check, one millisecond apart. */
const TIMESTAMPS_MS = 3;
/** If an edit and an event are this close, their order is unknown. */
const AMBIGUOUS_MS = 10;
/** Each region remembers this many slots. */
const REMEMBERED_SLOTS = 8;
/** A result counts for this many intervals plus the timeout (docs/concepts/statuses.md). */
const FRESH_INTERVALS = 3;
/** A result whose age is this close to the limit may or may not have counted. */
const CLOSE_MS = 1_000;

export const STATUS_CHECKS: readonly Check<Evidence>[] = [
  ['statuses follow from events', wrongStatusChanges],
  ['each status change has its webhook events', wrongWebhookEvents],
  ['payloads follow from events', wrongPayloads],
  ['one incident for each outage', wrongIncidents],
];

/**
 * Returns the status changes that follow from the events, or null if they are unknown. After a change of the URL, it is unknown which
 * results still count, and the events of a deleted monitor are deleted.
 */
function impliedChanges({ monitor, events, maintained }: History): ExpectedChange[] | null {
  const { plan, thresholds, createdAt, deletedAt } = monitor;
  const isAmbiguous = thresholds.some((edit) =>
    events.some(({ timestamp }) => Math.abs(timestamp - edit.at) <= AMBIGUOUS_MS),
  );
  if (deletedAt !== null || plan.fate === 'moved' || isAmbiguous) return null;
  const model = {
    failureThreshold: plan.failureThreshold,
    recoveryThreshold: plan.recoveryThreshold,
    regions: plan.regions,
    thresholds,
    createdAt,
    freshForMs: freshForMs(plan),
    maintenance: maintained.map(({ from, until }) => ({ startsAt: from, endsAt: until })),
  };
  const slots = new Map<string, readonly number[]>();
  const implying = events
    // A check of another URL does not count, nor does one of an earlier slot than the last one.
    .filter(({ url, region, slot, timestamp }) => {
      const recent = slots.get(region) ?? [];
      if (slot !== null) slots.set(region, [...recent, slot].slice(-REMEMBERED_SLOTS));
      const isOutdated = recent.some(
        (one) => slot !== null && one > slot && one <= timestamp + MAX_CLOCK_OFFSET_MS,
      );
      return url === null && !isOutdated;
    })
    .map(({ timestamp, latencyMs: latency, ...event }) =>
      Object.assign(event, { timestamp: iso(timestamp), latency }),
    );
  return expectedChanges(model, implying, Infinity);
}

function freshForMs({ intervalSeconds, timeoutSeconds }: History['monitor']['plan']): number {
  return (FRESH_INTERVALS * intervalSeconds + timeoutSeconds) * 1_000;
}

function wrongStatusChanges(evidence: Evidence): string[] {
  return historiesOf(evidence).flatMap((history) => {
    const { monitor, changes } = history;
    const { key } = monitor.plan;
    const broken = changes.findIndex(
      (change, index) => change.from !== (changes[index - 1]?.to ?? 'PENDING'),
    );
    if (broken >= 0) return [`${key}: change ${broken} does not continue the one before`];
    const implied = impliedChanges(history);
    const index = implied === null ? -1 : firstDifference(implied, changes, isSame);
    if (index < 0) return [];
    const [wanted, actual] = [describe(implied?.[index]), describe(changes[index])];
    return [`${key}: change ${index} should be ${wanted}, and is ${actual}`];
  });
}

function isSame(implied: ExpectedChange, found: StatusChangeFacts): boolean {
  if (implied.from !== found.from || implied.to !== found.to) return false;
  if (implied.webhooks.length > 0 !== found.webhookEvents.length > 0) return false;
  const laterMs = found.timestamp - implied.at;
  return (
    implied.region === null || (implied.region === found.region && laterMs >= 0 && laterMs <= TIMESTAMPS_MS)
  );
}

/** Returns the index of the first difference, or -1. */
function firstDifference<One, Other>(
  one: readonly One[],
  other: readonly Other[],
  isEqual: (one: One, other: Other) => boolean,
): number {
  const index = one.findIndex((left, position) => {
    const right = other[position];
    return right === undefined || !isEqual(left, right);
  });
  return index < 0 && other.length > one.length ? one.length : index;
}

function describe(change: ExpectedChange | StatusChangeFacts | undefined): string {
  if (change === undefined) return 'none';
  const [alerts, at] =
    'webhooks' in change ? [change.webhooks, change.at] : [change.webhookEvents, change.timestamp];
  return `${change.from} to ${change.to}${alerts.length > 0 ? '' : ' silently'} at ${iso(at)}`;
}

/** Compares only monitors with one region and without edits, because other payloads depend on facts that the tables do not show. */
function wrongPayloads(evidence: Evidence): string[] {
  return historiesOf(evidence).flatMap((history) => {
    const { plan } = history.monitor;
    const isEdited = plan.fate !== 'kept' && plan.fate !== 'covered';
    if (isEdited || plan.regions.length !== 1 || isCloseToStale(history)) return [];
    const implied = impliedChanges(history)?.flatMap(({ webhooks }) => webhooks);
    if (implied === undefined) return [];
    const found = history.changes.flatMap(({ webhookEvents }) =>
      webhookEvents.map(({ payload }) => comparedFields(JSON.parse(payload) as WebhookPayload)),
    );
    const index = firstDifference(implied, found, isDeepStrictEqual);
    if (index < 0) return [];
    const [wanted, actual] = [implied, found].map((all) => JSON.stringify(all[index]) ?? 'none');
    return [`${plan.key}: webhook event ${index} should be ${wanted}, and is ${actual}`];
  });
}

/** The last result may have been too old to count when maintenance ended. */
function isCloseToStale({ monitor, events, maintained }: History): boolean {
  const limitMs = freshForMs(monitor.plan) - CLOSE_MS;
  return maintained.some(({ until }) => {
    const last = events.findLast(({ timestamp, url }) => url === null && timestamp < until)?.timestamp ?? 0;
    return until !== Infinity && until - last > limitMs;
  });
}

/** Payloads must match their status change, and their timestamps must strictly increase. */
function wrongWebhookEvents(evidence: Evidence): string[] {
  return historiesOf(evidence).flatMap(({ monitor, changes }) => {
    let hasIncident = false;
    let covered: StatusChangeFacts['from'] = 'PENDING';
    let lastTimestamp = -Infinity;
    return changes.flatMap((change) => {
      const { from, to, region, webhookEvents } = change;
      if (to === 'MAINTENANCE') covered = from;
      const before = from === 'MAINTENANCE' ? covered : from;
      const found = webhookEvents.map(({ event }) => event).join();
      const isDeletion = monitor.deletedAt !== null && from === to && change === changes.at(-1);
      // DOWN may return after maintenance without an alert, which the model decides.
      const isSilent = from === 'MAINTENANCE' && before === 'DOWN' && to === 'DOWN' && found === '';
      const wanted = isDeletion ? 'incident.resolved' : webhookEventsOf(to, before, hasIncident).join();
      const problems = found === wanted || isSilent ? [] : [`has ${found} instead of ${wanted}`];
      if (to !== 'MAINTENANCE') hasIncident = to === 'DOWN';
      for (const { event, payload } of webhookEvents) {
        const sent = JSON.parse(payload) as WebhookPayload;
        const stamp = Date.parse(sent.timestamp);
        if (stamp <= lastTimestamp) problems.push('has a timestamp that is not later than the one before');
        lastTimestamp = stamp;
        const isRight =
          sent.event === event &&
          sent.monitorId === monitor.id &&
          monitor.names.includes(sent.monitorName) &&
          sent.status === to &&
          sent.previousStatus === from &&
          sent.region === region &&
          (sent.errorReason === null) === (to !== 'DOWN');
        if (!isRight) problems.push(`has a wrong payload of ${event}: ${payload}`);
      }
      return problems.map((problem) => `${monitor.plan.key}: ${describe(change)} ${problem}`);
    });
  });
}
function wrongIncidents(evidence: Evidence): string[] {
  return existing(evidence).flatMap(({ monitor, changes }) => {
    const { incidents, monitors } = evidence.database;
    const found = incidents
      .filter(({ monitorId }) => monitorId === monitor.id)
      .map(({ openedAt, resolvedAt }) => describeSpan(openedAt, resolvedAt));
    const implied = outagesOf(changes);
    const status = monitors.find(({ id }) => id === monitor.id)?.status;
    const last = changes.at(-1)?.to ?? 'PENDING';
    const surplus = found.filter((span) => !implied.includes(span));
    const missing = implied.filter((span) => !found.includes(span));
    return [
      ...surplus.map((span) => `has an incident ${span}, and was not DOWN then`),
      ...missing.map((span) => `was DOWN ${span}, without an incident`),
      ...(status === last ? [] : [`is ${status}, and its last change was to ${last}`]),
    ].map((problem) => `${monitor.plan.key} ${problem}`);
  });
}

/** An outage lasts from DOWN until UP. Maintenance in between does not end it unless it ends in UP. */
function outagesOf(changes: readonly StatusChangeFacts[]): string[] {
  const ends = changes.filter(({ to }) => to !== 'MAINTENANCE');
  return ends.flatMap(({ to, timestamp }, index) => {
    if (to !== 'DOWN' || ends[index - 1]?.to === 'DOWN') return [];
    const resolved = ends.slice(index).find((later) => later.to !== 'DOWN');
    return [describeSpan(timestamp, resolved?.timestamp ?? null)];
  });
}

function describeSpan(openedAt: number, resolvedAt: number | null): string {
  return `from ${iso(openedAt)} ${resolvedAt === null ? 'until now' : `to ${iso(resolvedAt)}`}`;
}

export function wrongFinalStatuses(record: FaultRecord | NetworkRecord | RolloutRecord): string[] {
  return existing(record).flatMap(({ monitor: { id, plan } }) => {
    const shown = record.shown.get(id) ?? 'nothing';
    if (shown === plan.finalState.toUpperCase()) return [];
    return [`${plan.key}: its target is ${plan.finalState} at the end, the API shows ${shown}`];
  });
}
