import { describe, expect, test } from '@jest/globals';
import { answerAt, CHANNEL, eventAt, goodRecord, MONITOR, START } from '../testing/campaign-record.ts';
import { findViolations } from './find-violations.ts';
import type { CampaignRecord, DatabaseFacts, MonitorFacts } from './record.ts';

const good = goodRecord();
const { database } = good;

function withDatabase(changed: Partial<DatabaseFacts>): CampaignRecord {
  return { ...good, database: { ...database, ...changed } };
}

function withMonitor(changed: Partial<MonitorFacts>): CampaignRecord {
  return { ...good, monitors: [{ ...MONITOR, ...changed }] };
}

const outage = [25, 30, 35, 40, 45].map((second) => answerAt(second, false));

/* Each is a loss that leaves the tables as if it had not happened, or in agreement with each other. */
describe('a loss is found:', () => {
  test.each<[string, CampaignRecord, string, RegExp]>([
    [
      'an outage of which every result was dropped',
      { ...good, answers: [...good.answers, ...outage] },
      'what targets keep answering is seen',
      /^shop: 5 answers that say DOWN, from .*:25.050Z to .*:45.050Z, and nothing shows it$/,
    ],
    [
      'the same of a monitor that was deleted afterwards',
      {
        ...withMonitor({ deletedAt: START + 70_000 }),
        answers: [...good.answers, ...outage],
        database: { ...database, events: [], incidents: [], monitors: [] },
      },
      'what targets keep answering is seen',
      /^shop: 5 answers that say DOWN/,
    ],
    [
      'the same of a monitor with two regions',
      {
        ...withMonitor({ plan: { ...MONITOR.plan, regions: ['north', 'south'] } }),
        answers: [...good.answers, ...outage],
      },
      'what targets keep answering is seen',
      /^shop: 5 answers that say DOWN/,
    ],
    [
      'a recovery of which every result was dropped',
      {
        ...withDatabase({ statusChanges: database.statusChanges.slice(0, 2) }),
        answers: [...good.answers, answerAt(25, true), answerAt(30, true)],
      },
      'what targets keep answering is seen',
      /^shop: 5 answers that say UP/,
    ],
    [
      'outages that nobody was told of, of all monitors',
      withDatabase({ statusChanges: database.statusChanges.slice(0, 1) }),
      'there was something to lose',
      /^0 of 1 monitors were DOWN$/,
    ],
    [
      'a result of long ago, recorded once more',
      {
        ...withDatabase({ events: [...database.events, eventAt(100, true, { slot: START + 100_000 })] }),
        answers: [...good.answers, answerAt(21, true)],
      },
      'every event is a check',
      /says 200, which its target answered to nobody else before/,
    ],
    [
      'an alert that says other than its check',
      withDatabase({
        statusChanges: database.statusChanges.map((change) => ({
          ...change,
          webhookEvents: change.webhookEvents.map((one) => ({
            ...one,
            payload: one.payload.replace('HTTP_500', 'TIMEOUT'),
          })),
        })),
      }),
      'what is told follows from events',
      /webhook event 0 should be .*HTTP_500.* and is .*TIMEOUT/,
    ],
    [
      'a monitor that is checked only when somebody asks',
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
      'an incident that is gone',
      withDatabase({ incidents: [] }),
      'one incident for each outage',
      /^shop was DOWN from .* to .*, without an incident$/,
    ],
    [
      'a status that is not that of the last change',
      withDatabase({ monitors: database.monitors.map((one) => ({ ...one, status: 'DOWN' as const })) }),
      'one incident for each outage',
      /^shop is DOWN, and its last change was to UP$/,
    ],
    [
      'a delivery with the bytes of another one',
      withDatabase({
        deliveries: database.deliveries.map((one, index) => ({
          ...one,
          payload: database.deliveries[1 - index]?.payload ?? one.payload,
        })),
      }),
      'each delivery is due to its channel',
      /^monitor.down of shop to steady .* holds .*incident.created.* instead of .*monitor.down/,
    ],
    [
      'a delivery to a channel of other monitors',
      { ...good, channels: [{ ...CHANNEL, plan: { ...CHANNEL.plan, monitors: ['other'] } }] },
      'each delivery is due to its channel',
      /goes to a channel that its monitor is not assigned to$/,
    ],
    [
      'a delivery of nothing that happened',
      withDatabase({ statusChanges: database.statusChanges.slice(0, 2) }),
      'each delivery is due to its channel',
      /^monitor.up of shop to steady .* is of no webhook event$/,
    ],
    [
      'what only a redelivery by hand brought',
      { ...good, leftAlone: { undispatched: 1, overdue: 3 } },
      'the outbox empties',
      /^3 deliveries are overdue by themselves$/,
    ],
    [
      'a monitor that an api had made, and made anew',
      { ...good, promised: [{ id: 'lost', key: 'shop' }] },
      'what the API took stays as it is',
      /^an api said that it had made shop as lost, which was lost$/,
    ],
    [
      'a monitor that is gone',
      withDatabase({ monitors: [] }),
      'what the API took stays as it is',
      /^shop was made, and is gone$/,
    ],
    [
      'an edit that was taken and lost',
      withMonitor({ names: ['Shop', 'New shop'] }),
      'what the API took stays as it is',
      /^shop is called Shop, threshold 1, not New shop, 1$/,
    ],
    [
      'a deleted monitor that is still there',
      withMonitor({ deletedAt: START + 1_000 }),
      'what the API took stays as it is',
      /^shop was deleted, and is there$/,
    ],
    [
      'a deleted monitor that is still checked',
      { ...withMonitor({ deletedAt: START + 1_000 }), answers: [...good.answers, answerAt(30, true)] },
      'what is deleted is checked no more',
      /^shop was deleted .* 1 times after/,
    ],
    [
      'a notifier that does nothing beside another one',
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
    const found = findViolations(record).filter((violation) => violation.invariant === invariant);
    expect(found.map((violation) => violation.detail)).toContainEqual(expect.stringMatching(detail));
  });
});

/* What faults may take with them. */
test.each<[string, CampaignRecord]>([
  ['a few results', { ...good, answers: [...good.answers, ...outage.slice(0, 3)] }],
  [
    'results of a monitor that was deleted right then',
    {
      ...withMonitor({ deletedAt: START + 46_000 }),
      answers: [...good.answers, ...outage],
    },
  ],
])('is no loss: %s', (_, record) => {
  const found = findViolations(record).filter(({ invariant }) => invariant.startsWith('what targets'));
  expect(found).toEqual([]);
});
