import { isDeepStrictEqual } from 'node:util';
import type { WebhookPayload } from '@tocsin/contracts/deliveries/webhook';
import {
  type ExpectedWebhook,
  expectedWebhooks,
  type ImplyingEvent,
  withoutStamps,
} from '@tocsin/lab/oracle';
import type { MonitorPlan } from '../plan/plan-world.ts';
import { changesOf, type MaintainedSpan, maintainedSpans } from './changes-of.ts';
import { eventsByMonitor } from './check-events.ts';
import type { CampaignRecord, EventFacts, Violation } from './record.ts';

/** A region has a say for three intervals and a timeout (design §4 "Status"); where it is close nobody can tell. */
const FRESH_INTERVALS = 3;
const CLOSE_MS = 1_000;

/**
 * What is told of a monitor follows from its events, by an implementation of the rules that is not the system's. It knows of one
 * region and no edits: those monitors are judged.
 */
export function wrongTellings(record: CampaignRecord): Violation[] {
  const events = eventsByMonitor(record);
  return record.monitors.flatMap((monitor) => {
    const { fate, regions, failureThreshold, key } = monitor.plan;
    // The events of a deleted monitor went with it.
    const isEdited = fate !== 'kept' && fate !== 'covered';
    if (monitor.deletedAt !== null || isEdited || regions.length !== 1) return [];
    const own = (events.get(monitor.id) ?? []).filter(({ url }) => url === null);
    const changes = changesOf(record, monitor);
    const spans = maintainedSpans(changes, own);
    if (spans.some((span) => isUnsaid(span, own, monitor.plan))) return [];
    const maintenance = spans.map(({ enteredAt, leftAt }) => ({
      startsAt: enteredAt,
      endsAt: leftAt ?? Infinity,
    }));
    const implied = expectedWebhooks({ failureThreshold, regions, maintenance }, own.map(implyingEvent));
    const told = changes.flatMap(({ webhookEvents }) =>
      webhookEvents.map(({ payload }) => withoutStamps(JSON.parse(payload) as WebhookPayload)),
    );
    const wrong = implied.findIndex((webhook, index) => !isDeepStrictEqual(webhook, told[index]));
    if (wrong < 0 && implied.length === told.length) return [];
    const index = wrong < 0 ? implied.length : wrong;
    const detail = `${key}: webhook event ${index} should be ${describe(implied[index])}, and is ${describe(told[index])}`;
    return [{ invariant: 'what is told follows from events', detail }];
  });
}

/** Whether a region was silent for long when maintenance ended: it has no say then, which this implementation does not know. */
function isUnsaid(
  { leftAt }: MaintainedSpan,
  events: readonly EventFacts[],
  { intervalSeconds, timeoutSeconds }: MonitorPlan,
): boolean {
  if (leftAt === null) return false;
  const last = events.findLast(({ timestamp }) => timestamp < leftAt)?.timestamp ?? 0;
  const freshMs = (FRESH_INTERVALS * intervalSeconds + timeoutSeconds) * 1_000;
  return leftAt - last > freshMs - CLOSE_MS;
}

function implyingEvent(event: EventFacts): ImplyingEvent {
  const { timestamp, status, latencyMs, errorReason, region } = event;
  return { timestamp: new Date(timestamp).toISOString(), status, latency: latencyMs, errorReason, region };
}

function describe(webhook: ExpectedWebhook | undefined): string {
  return webhook === undefined ? 'none' : JSON.stringify(webhook);
}
