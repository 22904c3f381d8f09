import { describe, expect, test } from '@jest/globals';
import {
  CHANNEL,
  detailsOf,
  eventAt,
  goodRecord,
  MONITOR,
  START,
  visitAt,
  withDatabase,
} from '../testing/campaign-record.ts';
import type { CampaignRecord, MonitorFacts } from './record.ts';

const good = goodRecord();
const { database } = good;

function withMonitor(changed: Partial<MonitorFacts>): CampaignRecord {
  return { ...good, monitors: [{ ...MONITOR, ...changed }] };
}

const outage = [25, 30, 35, 40, 45].map((second) => visitAt(second, false));

/* Losses after which the tables are consistent, as if nothing had happened. */
describe('findViolations finds', () => {
  test.each<[string, CampaignRecord, string, RegExp]>([
    [
      'an outage whose results were all dropped',
      { ...good, visits: [...good.visits, ...outage] },
      'lasting responses of a target are seen',
      /^shop: 5 responses that mean DOWN, from .*:25.050Z to .*:45.050Z, show nowhere$/,
    ],
    [
      'an outage whose results were all dropped, of a monitor that was deleted afterwards',
      {
        ...withMonitor({ deletedAt: START + 70_000 }),
        visits: [...good.visits, ...outage],
        database: { ...database, events: [], incidents: [], monitors: [] },
      },
      'lasting responses of a target are seen',
      /^shop: 5 responses that mean DOWN/,
    ],
    [
      'an outage whose results were all dropped, of a monitor with two regions',
      {
        ...withMonitor({ plan: { ...MONITOR.plan, regions: ['north', 'south'] } }),
        visits: [...good.visits, ...outage],
      },
      'lasting responses of a target are seen',
      /^shop: 5 responses that mean DOWN/,
    ],
    [
      'a recovery whose results were all dropped',
      {
        ...withDatabase({ statusChanges: database.statusChanges.slice(0, 2) }),
        visits: [...good.visits, visitAt(25, true), visitAt(30, true)],
      },
      'lasting responses of a target are seen',
      /^shop: 5 responses that mean UP/,
    ],
    [
      'outages of all monitors without an alert',
      withDatabase({ statusChanges: database.statusChanges.slice(0, 1) }),
      'the campaign has alerts to lose',
      /^0 of 1 monitors were DOWN$/,
    ],
    [
      'an old result that was recorded again',
      {
        ...withDatabase({ events: [...database.events, eventAt(100, true, { slot: START + 100_000 })] }),
        visits: [...good.visits, visitAt(21, true)],
      },
      'every event has a request',
      /^shop: no request explains the event 200/,
    ],
    [
      'an alert that differs from its check',
      withDatabase({
        statusChanges: database.statusChanges.map((change) => ({
          ...change,
          webhookEvents: change.webhookEvents.map((one) => ({
            ...one,
            payload: one.payload.replace('HTTP_500', 'TIMEOUT'),
          })),
        })),
      }),
      'payloads follow from events',
      /webhook event 0 should be .*HTTP_500.* and is .*TIMEOUT/,
    ],
    [
      'a monitor that is checked only by triggers',
      {
        ...withDatabase({ events: database.events.map((one) => ({ ...one, source: 'trigger' as const })) }),
        endedAt: START + 30_000,
      },
      'no monitor stays unchecked',
      /^shop .* had no check from north for 21 s/,
    ],
    [
      'a monitor whose checks reach no target',
      {
        ...withDatabase({
          events: database.events.map((one) => ({
            ...one,
            statusCode: null,
            errorReason: 'DNS_ERROR' as const,
          })),
        }),
        endedAt: START + 30_000,
      },
      'no monitor stays unchecked',
      /^shop .* had no check from north for 21 s/,
    ],
    [
      'an incident that was lost',
      withDatabase({ incidents: [] }),
      'one incident for each outage',
      /^shop was DOWN from .* to .*, without an incident$/,
    ],
    [
      'a status that differs from the last change',
      withDatabase({ monitors: database.monitors.map((one) => ({ ...one, status: 'DOWN' as const })) }),
      'one incident for each outage',
      /^shop is DOWN, and its last change was to UP$/,
    ],
    [
      'a delivery with the payload of another one',
      withDatabase({
        deliveries: database.deliveries.map((one, index) => ({
          ...one,
          payload: database.deliveries[1 - index]?.payload ?? one.payload,
        })),
      }),
      'each delivery belongs to its channel',
      /^monitor.down of shop to steady .* has .*incident.created.* instead of .*monitor.down/,
    ],
    [
      'a delivery to a channel of other monitors',
      { ...good, channels: [{ ...CHANNEL, plan: { ...CHANNEL.plan, monitors: ['other'] } }] },
      'each delivery belongs to its channel',
      /goes to a channel that its monitor is not assigned to$/,
    ],
    [
      'a delivery without a status change',
      withDatabase({ statusChanges: database.statusChanges.slice(0, 2) }),
      'each delivery belongs to its channel',
      /^monitor.up of shop to steady .* is of no webhook event$/,
    ],
    [
      'deliveries that needed a redelivery by hand',
      { ...good, backlogBeforeRedelivery: { undispatched: 1, overdue: 3 } },
      'the outbox empties',
      /^3 deliveries are overdue before redeliveries$/,
    ],
    [
      'a monitor that an api confirmed and lost',
      { ...good, promised: [{ id: 'lost', key: 'shop' }] },
      'accepted changes are kept',
      /^an api created shop as lost, which was lost$/,
    ],
    [
      'a monitor that was lost',
      withDatabase({ monitors: [] }),
      'accepted changes are kept',
      /^shop was created, but does not exist$/,
    ],
    [
      'an edit that was accepted and lost',
      withMonitor({ names: ['Shop', 'New shop'] }),
      'accepted changes are kept',
      /^shop is called Shop, threshold 1, not New shop, threshold 1$/,
    ],
    [
      'a deleted monitor that still exists',
      withMonitor({ deletedAt: START + 1_000 }),
      'accepted changes are kept',
      /^shop was deleted, but exists$/,
    ],
    [
      'a deleted monitor that is still checked',
      { ...withMonitor({ deletedAt: START + 1_000 }), visits: [...good.visits, visitAt(30, true)] },
      'deleted monitors are not checked',
      /^shop was deleted .* checked 1 times after/,
    ],
    [
      'an idle notifier beside another one',
      {
        ...good,
        replicas: [
          ...good.replicas,
          { name: 'notifier-2', service: 'notifier', region: null, address: '127.0.1.7' },
        ],
      },
      'services recover by themselves',
      /^notifier-2 did nothing after the last fault$/,
    ],
  ])('%s', (_, record, invariant, detail) => {
    expect(detailsOf(record, invariant)).toContainEqual(expect.stringMatching(detail));
  });
});

/* Faults may lose this much. */
test.each<[string, CampaignRecord]>([
  ['a few results', { ...good, visits: [...good.visits, ...outage.slice(0, 3)] }],
  [
    'results of a monitor that was deleted right then',
    {
      ...withMonitor({ deletedAt: START + 46_000 }),
      visits: [...good.visits, ...outage],
    },
  ],
])('findViolations tolerates the loss of %s', (_, record) => {
  expect(detailsOf(record, 'lasting responses of a target are seen')).toEqual([]);
});
