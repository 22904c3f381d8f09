import { isDeepStrictEqual } from 'node:util';
import type { WebhookPayload } from '@tocsin/contracts/deliveries/webhook';
import {
  expectedChanges,
  webhookEventsOf,
  withoutStamps,
  type ExpectedChange,
} from '@tocsin/lab/oracle/model';
import { existing, historiesOf, iso, type History } from './history.ts';
import type { CampaignRecord, Evidence, StatusChangeFacts } from './record.ts';

/** The stamps of a change follow that of its event by a millisecond each. */
const STAMPS_MS = 3;
/** The order of an edit and an event that are this close is unknown. */
const AMBIGUOUS_MS = 10;
/** A result counts for three intervals and the timeout (docs/reference/status-rules.md). */
const FRESH_INTERVALS = 3;
/** Whether a result that is this close to the limit counted is unknown. */
const CLOSE_MS = 1_000;

/**
 * The status changes that follow from the events by the model of the rules. Null if they are unknown: after an edit of the probe the
 * table does not show which results still counted, and the events of a deleted monitor are deleted.
 */
function impliedChanges({ monitor, events, maintained }: History): ExpectedChange[] | null {
  const { plan, thresholds, createdAt, deletedAt } = monitor;
  const isAmbiguous = thresholds.some((edit) =>
    events.some(({ timestamp }) => Math.abs(timestamp - edit.at) <= AMBIGUOUS_MS),
  );
  if (deletedAt !== null || plan.fate === 'moved' || isAmbiguous) return null;
  const model = {
    failureThreshold: plan.failureThreshold,
    regions: plan.regions,
    initialStatus: initialStatusOf({ monitor }),
    thresholds,
    createdAt,
    freshForMs: freshForMs(plan),
    maintenance: maintained.map(({ enteredAt, leftAt }) => ({
      startsAt: enteredAt,
      endsAt: leftAt ?? Infinity,
    })),
  };
  // A check of another URL counts for nothing.
  const implying = events
    .filter(({ url }) => url === null)
    .map(({ timestamp, status, latencyMs, errorReason, region }) => ({
      timestamp: iso(timestamp),
      status,
      latency: latencyMs,
      errorReason,
      region,
    }));
  return expectedChanges(model, implying, Infinity);
}

function initialStatusOf({ monitor }: Pick<History, 'monitor'>): 'PENDING' | 'UP' {
  return monitor.initialStatus ?? 'PENDING';
}

function freshForMs({ intervalSeconds, timeoutSeconds }: History['monitor']['plan']): number {
  return (FRESH_INTERVALS * intervalSeconds + timeoutSeconds) * 1_000;
}

/** The status changes are those, and only those, that follow from the events. */
export function wrongStatusChanges(evidence: Evidence): string[] {
  return historiesOf(evidence).flatMap((history) => {
    const { key } = history.monitor.plan;
    const { changes } = history;
    const broken = changes.findIndex(
      (change, index) => change.from !== (changes[index - 1]?.to ?? initialStatusOf(history)),
    );
    if (broken >= 0) return [`${key}: change ${broken} does not continue the one before`];
    const implied = impliedChanges(history);
    if (implied === null) return [];
    const index = firstDifference(implied, changes, isSame);
    if (index === null) return [];
    return [
      `${key}: change ${index} should be ${describe(implied[index])}, and is ${describe(changes[index])}`,
    ];
  });
}

function isSame(implied: ExpectedChange, found: StatusChangeFacts): boolean {
  if (implied.from !== found.from || implied.to !== found.to) return false;
  if (implied.webhooks.length > 0 !== found.webhookEvents.length > 0) return false;
  if (implied.region === null) return true;
  const laterMs = found.timestamp - implied.at;
  return implied.region === found.region && laterMs >= 0 && laterMs <= STAMPS_MS;
}

/** The index of the first items that differ; null: none does. */
function firstDifference<One, Other>(
  one: readonly One[],
  other: readonly Other[],
  isEqual: (one: One, other: Other) => boolean,
): number | null {
  for (let index = 0; index < Math.max(one.length, other.length); index += 1) {
    const [left, right] = [one[index], other[index]];
    if (left === undefined || right === undefined || !isEqual(left, right)) return index;
  }
  return null;
}

function describe(change: ExpectedChange | StatusChangeFacts | undefined): string {
  if (change === undefined) return 'none';
  const isFound = 'webhookEvents' in change;
  const alerts = isFound ? change.webhookEvents : change.webhooks;
  const time = iso(isFound ? change.timestamp : change.at);
  return `${change.from} to ${change.to}${alerts.length > 0 ? '' : ' silently'} at ${time}`;
}

/** The payloads of a monitor of one region that is never edited follow from its events, field by field. */
export function wrongPayloads(evidence: Evidence): string[] {
  return historiesOf(evidence).flatMap((history) => {
    const { plan } = history.monitor;
    const isEdited = plan.fate !== 'kept' && plan.fate !== 'covered';
    if (isEdited || plan.regions.length !== 1 || history.maintained.some(isCloseToStale(history))) return [];
    const implied = impliedChanges(history)?.flatMap(({ webhooks }) => webhooks);
    if (implied === undefined) return [];
    const found = history.changes.flatMap(({ webhookEvents }) =>
      webhookEvents.map(({ payload }) => withoutStamps(JSON.parse(payload) as WebhookPayload)),
    );
    const index = firstDifference(implied, found, isDeepStrictEqual);
    if (index === null) return [];
    const [wanted, actual] = [implied, found].map((all) => JSON.stringify(all[index]) ?? 'none');
    return [`${plan.key}: webhook event ${index} should be ${wanted}, and is ${actual}`];
  });
}

/** Whether the last result may have been too old to count when maintenance ended. */
function isCloseToStale({ events, monitor }: History): (span: History['maintained'][number]) => boolean {
  return ({ leftAt }) => {
    if (leftAt === null) return false;
    const last = events.findLast(({ timestamp, url }) => url === null && timestamp < leftAt)?.timestamp ?? 0;
    return leftAt - last > freshForMs(monitor.plan) - CLOSE_MS;
  };
}

/** Each change has its webhook events, with payloads that say what it is and strictly later stamps. */
export function wrongWebhookEvents(evidence: Evidence): string[] {
  return historiesOf(evidence).flatMap(({ monitor, changes }) => {
    let hasIncident = false;
    let covered: StatusChangeFacts['from'] = 'PENDING';
    let lastStamp = -Infinity;
    return changes.flatMap((change) => {
      if (change.to === 'MAINTENANCE') covered = change.from;
      const before = change.from === 'MAINTENANCE' ? covered : change.from;
      const found = change.webhookEvents.map(({ event }) => event);
      // DOWN may return after maintenance without an alert: the model judges that.
      const isSilentReturn =
        change.from === 'MAINTENANCE' && before === 'DOWN' && change.to === 'DOWN' && found.length === 0;
      const wanted = isSilentReturn ? [] : webhookEventsOf(change.to, before, hasIncident);
      if (change.to !== 'MAINTENANCE') hasIncident = change.to === 'DOWN';
      const problems =
        found.join() === wanted.join() ? [] : [`has ${found.join()} instead of ${wanted.join()}`];
      for (const { event, payload } of change.webhookEvents) {
        const said = JSON.parse(payload) as WebhookPayload;
        const stamp = Date.parse(said.timestamp);
        if (stamp <= lastStamp) problems.push('has a stamp that is not later than the one before');
        lastStamp = stamp;
        const isRight =
          said.event === event &&
          said.monitorId === monitor.id &&
          monitor.names.includes(said.monitorName) &&
          said.status === change.to &&
          said.previousStatus === change.from &&
          said.region === change.region &&
          (said.errorReason === null) === (change.to !== 'DOWN');
        if (!isRight) problems.push(`says in ${event}: ${payload}`);
      }
      return problems.map((problem) => `${monitor.plan.key}: ${describe(change)} ${problem}`);
    });
  });
}

/** A monitor has an incident for each time that it was DOWN, and no other. */
export function wrongIncidents(evidence: Evidence): string[] {
  return existing(evidence).flatMap(({ monitor, changes }) => {
    const found = evidence.database.incidents
      .filter(({ monitorId }) => monitorId === monitor.id)
      .map(({ openedAt, resolvedAt }) => describeSpan(openedAt, resolvedAt));
    const implied = outagesOf(changes);
    const status = evidence.database.monitors.find(({ id }) => id === monitor.id)?.status;
    const last = changes.at(-1)?.to ?? initialStatusOf({ monitor });
    return [
      ...found
        .filter((span) => !implied.includes(span))
        .map((span) => `has an incident ${span}, and was not DOWN then`),
      ...implied
        .filter((span) => !found.includes(span))
        .map((span) => `was DOWN ${span}, without an incident`),
      ...(status === last ? [] : [`is ${status}, and its last change was to ${last}`]),
    ].map((problem) => `${monitor.plan.key} ${problem}`);
  });
}

/** From DOWN until UP: an incident lasts through maintenance, unless that ends in UP. */
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

/** After the last fault each monitor shows the state of its target. */
export function wrongFinalStatuses(record: CampaignRecord): string[] {
  return existing(record).flatMap(({ monitor: { id, plan } }) => {
    const shown = record.shown.get(id) ?? 'nothing';
    if (shown === plan.finalState.toUpperCase()) return [];
    return [`${plan.key}: its target is ${plan.finalState} since the last fault, the API shows ${shown}`];
  });
}
