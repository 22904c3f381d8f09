import { isDeepStrictEqual } from 'node:util';
import type { WebhookPayload } from '@tocsin/contracts/deliveries/webhook';
import {
  type ExpectedWebhook,
  expectedWebhooks,
  type ImplyingEvent,
  withoutStamps,
} from '@tocsin/lab/oracle';
import type { ReceivedWebhook } from '@tocsin/embedded/local-web/webhook-receiver';
import { inWords } from './in-words.ts';
import type { Readings } from './read.ts';

interface AskedOtherwise {
  readonly monitorId: string;
  /** In `monitorIds`. */
  readonly place: number;
  readonly asked: number;
  readonly events: number;
}

/** What was checked and what was told of it, compared from the ends. Lists name what is wrong. */
export interface Findings {
  readonly slots: number;
  /** Planned checks without an event, and events beyond one of a planned check. */
  readonly missed: number;
  /** Why, as far as the checkers knew. */
  readonly missReasons: Readonly<Record<string, number>>;
  readonly repeated: number;
  readonly events: number;
  /** Monitors whose target was asked more, or less, often than there are events of it. */
  readonly askedOtherwise: readonly AskedOtherwise[];
  /** Monitors with more events of a kind, passed or failed, than their target gave answers of that kind. */
  readonly readOtherwise: readonly string[];
  /** Status changes that were announced. */
  readonly statusChanges: number;
  readonly deliveries: number;
  readonly received: number;
  /** What attempts came to that failed, though the receiver takes everything. */
  readonly failures: readonly string[];
  /** Webhook ids that came more than once, not at all, or from nowhere. */
  readonly duplicates: readonly string[];
  readonly lost: readonly string[];
  readonly strangers: readonly string[];
  /** Monitors whose webhooks are not those that follow from their events. */
  readonly toldOtherwise: readonly string[];
  /** Events that the live stream did not bring. */
  readonly notStreamed: readonly string[];
}

export function judge(readings: Readings): Findings {
  const { monitorIds, requests, failedRequests, eventCounts, slots, deliveryIds, received } = readings;
  const times = new Map<string, number>();
  for (const webhook of received) times.set(idOf(webhook), (times.get(idOf(webhook)) ?? 0) + 1);
  return {
    slots: slots.planned,
    missed: slots.planned - slots.checked,
    missReasons: readings.misses,
    repeated: slots.events - slots.checked,
    events: [...eventCounts.values()].reduce((sum, { all }) => sum + all, 0),
    askedOtherwise: monitorIds.flatMap((monitorId, place) => {
      const [asked, events] = [requests.get(place)?.length ?? 0, eventCounts.get(monitorId)?.all ?? 0];
      return asked === events ? [] : [{ monitorId, place, asked, events }];
    }),
    readOtherwise: monitorIds.filter((monitorId, place) => {
      const [asked, failures] = [requests.get(place)?.length ?? 0, failedRequests.get(place) ?? 0];
      const { passed, failed } = eventCounts.get(monitorId) ?? { passed: 0, failed: 0 };
      return failed > failures || passed > asked - failures;
    }),
    statusChanges: readings.statusChanges,
    deliveries: deliveryIds.size,
    received: received.length,
    failures: readings.failures,
    duplicates: [...times].filter(([, count]) => count > 1).map(([id]) => id),
    lost: [...deliveryIds].filter((id) => !times.has(id)),
    strangers: [...times.keys()].filter((id) => !deliveryIds.has(id)),
    toldOtherwise: toldOtherwise(readings),
    notStreamed: readings.eventIds.filter((id) => !readings.streamed.has(id)),
  };
}

/** What is wrong, in words; nothing where all is as it should be. */
export function faultsOf(findings: Findings): string[] {
  return inWords(
    [
      [findings.missed, 'planned checks were missed'],
      [findings.repeated, 'planned checks have more than one event'],
      [findings.askedOtherwise.length, 'monitors were checked more, or less, often than they have events'],
      [findings.readOtherwise.length, 'monitors have events that say otherwise than their target'],
      [findings.failures.length, 'attempts at a webhook failed'],
      [findings.duplicates.length, 'webhooks came more than once'],
      [findings.lost.length, 'webhooks did not come'],
      [findings.strangers.length, 'webhooks came that no delivery is about'],
      [findings.toldOtherwise.length, 'monitors have other webhooks than follow from their events'],
      [findings.notStreamed.length, 'events did not come over the live stream'],
    ],
    [
      [findings.slots, 'planned checks'],
      [findings.events, 'events'],
      [findings.statusChanges, 'status changes'],
      [findings.received, 'webhooks'],
    ],
  );
}

/** The monitors whose webhooks, in the order of their stamps and each taken once, are not what their events imply. */
function toldOtherwise({ monitorIds, flapping, flappingEvents, received }: Readings): string[] {
  const told = new Map<string, Map<string, WebhookPayload>>();
  for (const webhook of received) {
    const payload = JSON.parse(webhook.body) as WebhookPayload;
    const known = told.get(payload.monitorId) ?? new Map<string, WebhookPayload>();
    told.set(payload.monitorId, known.set(idOf(webhook), payload));
  }
  return monitorIds.slice(0, flapping).filter((id) => {
    const stamped = [...(told.get(id)?.values() ?? [])].sort((a, b) => (a.timestamp < b.timestamp ? -1 : 1));
    return !isDeepStrictEqual(stamped.map(withoutStamps), implied(flappingEvents.get(id) ?? []));
  });
}

function implied(events: readonly ImplyingEvent[]): ExpectedWebhook[] {
  return expectedWebhooks({ failureThreshold: 1, regions: ['default'], maintenance: [] }, events);
}

function idOf({ headers }: ReceivedWebhook): string {
  return String(headers['webhook-id']);
}
