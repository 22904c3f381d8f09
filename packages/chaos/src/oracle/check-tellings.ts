import { isDeepStrictEqual } from 'node:util';
import type { WebhookPayload } from '@tocsin/contracts/webhook';
import {
  expectedWebhooks,
  withoutStamps,
  type ExpectedWebhook,
  type ImplyingEvent,
} from '@tocsin/e2e/oracle';
import { eventsByMonitor } from './check-events.ts';
import { changesOf } from './check-statuses.ts';
import type { CampaignRecord, EventFacts, Violation } from './record.ts';

/**
 * What is told of a monitor follows from its events, by an implementation of the rules that is not the system's. It knows of one
 * region and no edits: those monitors are judged.
 */
export function wrongTellings(record: CampaignRecord): Violation[] {
  const events = eventsByMonitor(record);
  return record.monitors.flatMap((monitor) => {
    const { fate, regions, failureThreshold, key } = monitor.plan;
    if (fate !== 'kept' || regions.length !== 1) return [];
    const implied = expectedWebhooks(
      { failureThreshold, regions, maintenance: null },
      (events.get(monitor.id) ?? []).filter(({ url }) => url === null).map(implyingEvent),
    );
    const told = changesOf(record, monitor).flatMap(({ webhookEvents }) =>
      webhookEvents.map(({ payload }) => withoutStamps(JSON.parse(payload) as WebhookPayload)),
    );
    const wrong = implied.findIndex((webhook, index) => !isDeepStrictEqual(webhook, told[index]));
    if (wrong < 0 && implied.length === told.length) return [];
    const index = wrong < 0 ? implied.length : wrong;
    const detail = `${key}: webhook event ${index} should be ${describe(implied[index])}, and is ${describe(told[index])}`;
    return [{ invariant: 'what is told follows from events', detail }];
  });
}

function implyingEvent(event: EventFacts): ImplyingEvent {
  const { timestamp, status, latencyMs, errorReason, region } = event;
  return { timestamp: new Date(timestamp).toISOString(), status, latency: latencyMs, errorReason, region };
}

function describe(webhook: ExpectedWebhook | undefined): string {
  return webhook === undefined ? 'none' : JSON.stringify(webhook);
}
