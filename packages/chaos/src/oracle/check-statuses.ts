import type { WebhookPayload } from '@tocsin/contracts/deliveries/webhook';
import { webhookEventsOf } from '@tocsin/core/status/webhook-events';
import { changesOf, maintainedSpans } from './changes-of.ts';
import { eventsByMonitor } from './check-events.ts';
import type { CampaignRecord, StatusChangeFacts, Violation } from './record.ts';
import { type ImpliedChange, isAmbiguous, RepeatedSlotError, replay } from './replay.ts';

/** A change's stamps follow those of its event by a millisecond each. */
const STAMPS_MS = 3;

/** The status changes are those, and only those, that the rules derive from the recorded events. */
export function wrongStatusChanges(record: CampaignRecord): Violation[] {
  const events = eventsByMonitor(record);
  return record.monitors.flatMap((monitor) => {
    const list = events.get(monitor.id) ?? [];
    const invariant = 'statuses follow from events';
    const found = changesOf(record, monitor);
    const broken = found.findIndex((change, index) => change.from !== (found[index - 1]?.to ?? 'PENDING'));
    if (broken >= 0) {
      return [
        { invariant, detail: `${monitor.plan.key}: change ${broken} does not go on from the one before` },
      ];
    }
    if (monitor.deletedAt !== null || monitor.plan.fate === 'moved' || isAmbiguous(monitor, list)) return [];
    try {
      const implied = replay(monitor, list, maintainedSpans(found, list));
      const wrong = implied.findIndex((change, index) => !isSame(change, found[index]));
      if (wrong < 0 && implied.length === found.length) return [];
      const index = wrong < 0 ? implied.length : wrong;
      const detail = `${monitor.plan.key}: change ${index} should be ${describe(implied[index])}, and is ${describe(found[index])}`;
      return [{ invariant, detail }];
    } catch (error) {
      if (!(error instanceof RepeatedSlotError)) throw error;
      return [{ invariant, detail: `${monitor.plan.key}: ${error.message}` }];
    }
  });
}

function isSame(implied: ImpliedChange, found: StatusChangeFacts | undefined): boolean {
  if (found === undefined || implied.from !== found.from || implied.to !== found.to) return false;
  if (implied.announced !== found.webhookEvents.length > 0) return false;
  if (implied.region === null) return true;
  const laterMs = found.timestamp - implied.at;
  return implied.region === found.region && laterMs >= 0 && laterMs <= STAMPS_MS;
}

function describe(change: ImpliedChange | StatusChangeFacts | undefined): string {
  if (change === undefined) return 'none';
  const isFound = 'webhookEvents' in change;
  const time = isFound ? change.timestamp : change.at;
  const silently = (isFound ? change.webhookEvents.length > 0 : change.announced) ? '' : ' silently';
  return `${change.from} to ${change.to}${silently} at ${new Date(time).toISOString()}`;
}

/** Each change has the webhook events that it must have, with payloads that say what it is. */
export function wrongWebhookEvents(record: CampaignRecord): Violation[] {
  return record.monitors.flatMap((monitor) => {
    let open = false;
    let covered: StatusChangeFacts['from'] = 'PENDING';
    let lastStamp = -Infinity;
    const violations: Violation[] = [];
    const complain = (change: StatusChangeFacts, what: string): void => {
      const detail = `${monitor.plan.key}: ${describe(change)} ${what}`;
      violations.push({ invariant: 'each status change has its webhook events', detail });
    };
    for (const change of changesOf(record, monitor)) {
      if (change.to === 'MAINTENANCE') covered = change.from;
      const before = change.from === 'MAINTENANCE' ? covered : change.from;
      // A failure that lasts through maintenance is told again, unless nobody has a say at its end: the replay knows.
      const isSilent =
        change.from === 'MAINTENANCE' && before === 'DOWN' && change.webhookEvents.length === 0;
      const announced = change.to !== 'UP' || before === 'DOWN';
      const kinds = isSilent && change.to === 'DOWN' ? [] : webhookEventsOf(change.to, announced, open);
      if (change.to !== 'MAINTENANCE') open = change.to === 'DOWN';
      const found = change.webhookEvents.map(({ event }) => event);
      if (found.join() !== kinds.join()) complain(change, `has ${found.join()} instead of ${kinds.join()}`);
      for (const { event, payload } of change.webhookEvents) {
        const said = JSON.parse(payload) as WebhookPayload;
        const stamp = Date.parse(said.timestamp);
        if (stamp <= lastStamp) complain(change, `has a stamp that is not later than the one before`);
        lastStamp = stamp;
        const isRight =
          said.event === event &&
          said.monitorId === monitor.id &&
          monitor.names.includes(said.monitorName) &&
          said.status === change.to &&
          said.previousStatus === change.from &&
          said.region === change.region &&
          (said.errorReason === null) === (change.to !== 'DOWN');
        if (!isRight) complain(change, `says in ${event}: ${payload}`);
      }
    }
    return violations;
  });
}

/** A monitor has an incident for each time that it was DOWN, from the one change to the other, and no other one. */
export function wrongIncidents(record: CampaignRecord): Violation[] {
  return record.monitors.flatMap((monitor) => {
    // Its incidents went with it.
    if (monitor.deletedAt !== null) return [];
    const found = record.database.incidents
      .filter(({ monitorId }) => monitorId === monitor.id)
      .sort((one, other) => one.openedAt - other.openedAt)
      .map(({ openedAt, resolvedAt }) => spanOf(openedAt, resolvedAt));
    const changes = changesOf(record, monitor);
    const implied = outagesOf(changes);
    const wrong = found
      .filter((span) => !implied.includes(span))
      .map((span) => `has an incident ${span}, and was not DOWN then`)
      .concat(
        implied
          .filter((span) => !found.includes(span))
          .map((span) => `was DOWN ${span}, without an incident`),
      );
    const status = record.database.monitors.find(({ id }) => id === monitor.id)?.status;
    const last = changes.at(-1)?.to ?? 'PENDING';
    if (status !== last) wrong.push(`is ${status}, and its last change was to ${last}`);
    return wrong.map((what) => ({
      invariant: 'one incident for each outage',
      detail: `${monitor.plan.key} ${what}`,
    }));
  });
}

/** From DOWN until UP: maintenance lets an incident be, unless it ends in UP. */
function outagesOf(changes: readonly StatusChangeFacts[]): string[] {
  const ends = changes.filter(({ to }) => to !== 'MAINTENANCE');
  return ends.flatMap(({ to, timestamp }, index) => {
    if (to !== 'DOWN' || ends[index - 1]?.to === 'DOWN') return [];
    return [spanOf(timestamp, ends.slice(index).find((later) => later.to !== 'DOWN')?.timestamp ?? null)];
  });
}

function spanOf(openedAt: number, resolvedAt: number | null): string {
  const until = resolvedAt === null ? 'until now' : `to ${new Date(resolvedAt).toISOString()}`;
  return `from ${new Date(openedAt).toISOString()} ${until}`;
}

/** After the last fault each monitor shows what its target does. */
export function wrongFinalStatuses(record: CampaignRecord): Violation[] {
  return record.monitors
    .filter(({ deletedAt }) => deletedAt === null)
    .flatMap((monitor) => {
      const expected = monitor.plan.finalState === 'up' ? 'UP' : 'DOWN';
      const shown = record.shown.get(monitor.id) ?? 'nothing';
      if (shown === expected) return [];
      const detail = `${monitor.plan.key}: its target is ${monitor.plan.finalState} since the last fault, the API shows ${shown}`;
      return [{ invariant: 'each monitor shows what its target does', detail }];
    });
}
