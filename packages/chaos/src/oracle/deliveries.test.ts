import { describe, expect, test } from '@jest/globals';
import { CHANNEL, detailsOf, goodRecord, START, withDatabase, withOne } from '../testing/campaign-record.ts';
import type { CampaignRecord, UndeliveredFacts } from './record.ts';

const good = goodRecord();
const { database } = good;

/** A second attempt is due in some seconds. */
const PENDING: UndeliveredFacts = {
  id: 'late',
  channelId: CHANNEL.id,
  isChannelEnabled: true,
  state: 'pending',
  attempts: 1,
  dueInMs: 4_000,
};

function withUndelivered(changed: Partial<UndeliveredFacts>): CampaignRecord {
  return { ...good, undelivered: { stored: [{ ...PENDING, ...changed }], shown: [PENDING.id] } };
}

test('a scheduled retry, a delivery held for a disabled channel and one refused with 410 are no violations', () => {
  const [receipt] = good.receipts;
  const gone = receipt && { ...receipt, id: PENDING.id, status: 410 };
  const records = [
    withUndelivered({}),
    withUndelivered({ state: 'held', dueInMs: null, isChannelEnabled: false }),
    { ...withUndelivered({ state: 'failed', dueInMs: null }), receipts: gone ? [gone] : [] },
  ];
  for (const record of records) {
    expect(detailsOf(record, 'no delivery fails or is delayed too early')).toEqual([]);
  }
});

describe('findViolations finds', () => {
  test.each<[string, CampaignRecord, string, RegExp]>([
    [
      'a webhook event that is missing for a channel',
      withDatabase({ deliveries: database.deliveries.slice(1) }),
      'each webhook event goes to each channel',
      /^shop: .* has no delivery of monitor.down to steady/,
    ],
    [
      'a status change that does not name a channel',
      withDatabase({
        statusChanges: withOne(database.statusChanges, 1, (change) => ({ ...change, channelIds: [] })),
      }),
      'each webhook event goes to each channel',
      /does not name channel steady/,
    ],
    [
      'a delivery that was not received',
      { ...good, receipts: good.receipts.slice(1) },
      'each delivery is received or visible as undelivered',
      /is delivered, but its receiver accepted nothing/,
    ],
    [
      'a delivery whose receiver refused it',
      { ...good, receipts: withOne(good.receipts, 0, (receipt) => ({ ...receipt, status: 500 })) },
      'each delivery is received or visible as undelivered',
      /is delivered, but its receiver accepted nothing/,
    ],
    [
      'an undelivered delivery that the API hides',
      { ...good, undelivered: { stored: [{ ...PENDING, id: 'some' }], shown: [] } },
      'each delivery is received or visible as undelivered',
      /some is undelivered/,
    ],
    [
      'a delivery that failed without a 410',
      withUndelivered({ state: 'failed', dueInMs: null }),
      'no delivery fails or is delayed too early',
      /^delivery late to steady failed without a 410$/,
    ],
    [
      'a delivery that is held although its channel is enabled',
      withUndelivered({ state: 'held', dueInMs: null }),
      'no delivery fails or is delayed too early',
      /is held for an enabled channel$/,
    ],
    [
      'a delivery whose next attempt is delayed by hours',
      withUndelivered({ dueInMs: 3_600_000 }),
      'no delivery fails or is delayed too early',
      /is delayed by 3600000 ms after 1 attempts$/,
    ],
    [
      'a pending delivery without a time',
      withUndelivered({ dueInMs: null }),
      'no delivery fails or is delayed too early',
      /is pending without a time$/,
    ],
    [
      'a redelivery that was accepted but not sent',
      { ...good, redelivered: [{ id: good.receipts[0]?.id ?? '', since: START + 20_000 }] },
      'redeliveries are received',
      /did not arrive$/,
    ],
    [
      'a delivery that is pending at the end',
      withDatabase({ deliveries: withOne(database.deliveries, 0, (one) => ({ ...one, state: 'pending' })) }),
      'everything is delivered in the end',
      /is pending after 1 attempts/,
    ],
    [
      'a webhook without a delivery',
      { ...good, receipts: withOne(good.receipts, 0, (receipt) => ({ ...receipt, id: 'made up' })) },
      'nothing is received that is not stored',
      /made up, which is no delivery/,
    ],
    [
      'a followed redirect',
      { ...good, strays: ['POST /elsewhere'] },
      'nothing is received that is not stored',
      /^unknown request POST \/elsewhere$/,
    ],
    [
      'an attempt that does not send the stored bytes',
      { ...good, receipts: withOne(good.receipts, 0, (one) => ({ ...one, body: `${one.body} ` })) },
      'every attempt has the stored bytes and a valid signature',
      /instead of/,
    ],
    [
      'a signature of another secret',
      { ...good, receipts: withOne(good.receipts, 0, (receipt) => ({ ...receipt, signature: 'v1,abc' })) },
      'every attempt has the stored bytes and a valid signature',
      /the signature does not match/,
    ],
    [
      'an attempt with a stale timestamp',
      { ...good, receipts: withOne(good.receipts, 0, (one) => ({ ...one, at: one.at + 301_000 })) },
      'every attempt has a current timestamp',
      /^steady received at .* from 127.0.1.6 a webhook that is signed for 1767225600$/,
    ],
    [
      'an attempt that is not in the log',
      withDatabase({ deliveries: withOne(database.deliveries, 0, (one) => ({ ...one, attemptCount: 2 })) }),
      'every attempt is in the log',
      /2 attempts, 1 in the log/,
    ],
    [
      'a status change that was never fanned out',
      withDatabase({ backlog: { undispatched: 1, overdue: 0 } }),
      'the outbox empties',
      /1 status changes have no deliveries at the end/,
    ],
    [
      'an attempt that is overdue',
      withDatabase({ backlog: { undispatched: 0, overdue: 2 } }),
      'the outbox empties',
      /2 deliveries are overdue at the end/,
    ],
  ])('%s', (_, record, invariant, detail) => {
    expect(detailsOf(record, invariant)).toContainEqual(expect.stringMatching(detail));
  });
});
