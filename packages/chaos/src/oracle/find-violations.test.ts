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
  withOne,
} from '../testing/campaign-record.ts';
import { findViolations } from './find-violations.ts';
import type { CampaignRecord } from './record.ts';

const good = goodRecord();
const { database } = good;

test('a good campaign has no violations', () => {
  expect(findViolations(good)).toEqual([]);
});

test('a check that its target reset counts, one that reached no target does not', () => {
  const failing = [25, 30, 35].map((second) =>
    eventAt(second, false, { statusCode: null, errorReason: 'UNKNOWN_ERROR' }),
  );
  const visits = [25, 30, 35].map((second) => ({
    ...visitAt(second, false),
    state: 'reset' as const,
    respondedAt: null,
  }));
  const unchecked = (visits: CampaignRecord['visits']): unknown[] =>
    findViolations({
      ...withDatabase({ events: [...database.events, ...failing] }),
      visits,
      endedAt: START + 41_000,
    }).filter(({ invariant }) => invariant === 'no monitor stays unchecked');
  expect(unchecked([...good.visits, ...visits])).toEqual([]);
  expect(unchecked(good.visits)).toHaveLength(1);
});

describe('statuses follow from events', () => {
  const wrongStatuses = (record: CampaignRecord): unknown[] =>
    findViolations(record).filter(({ invariant }) => invariant === 'statuses follow from events');
  const tunedAt = (at: number): CampaignRecord => ({
    ...good,
    monitors: [{ ...MONITOR, thresholds: [{ at, value: 2 }] }],
  });

  test('ignoring checks of another URL', () => {
    const elsewhere = eventAt(12, false, { url: 'http://elsewhere', slot: null });
    expect(wrongStatuses(withDatabase({ events: [...database.events, elsewhere] }))).toEqual([]);
  });

  test('unless an edit and an event are so close that their order is unknown', () => {
    expect(wrongStatuses(tunedAt(START + 5_000))).toHaveLength(1);
    expect(wrongStatuses(tunedAt(START + 5_095))).toEqual([]);
  });
});

describe('findViolations finds', () => {
  test.each<[string, CampaignRecord, string, RegExp]>([
    [
      'a fault that was not fired',
      {
        ...good,
        faults: [{ name: 'dns-fail', victim: null, firedAt: null, endedAt: null, note: 'too late' }],
      },
      'every kind of fault is fired',
      /^dns-fail was not: too late$/,
    ],
    [
      'a channel that received nothing',
      {
        ...good,
        channels: [CHANNEL, { ...CHANNEL, id: 'idle', plan: { ...CHANNEL.plan, key: 'idle', monitors: [] } }],
      },
      'the campaign has alerts to lose',
      /^idle received nothing$/,
    ],
    [
      'a service that ended by itself',
      { ...good, serviceProblems: ['api-1 ended by itself with 1'] },
      'services recover by themselves',
      /api-1/,
    ],
    [
      'an internal error of the API',
      { ...good, apiStatuses: new Map([[500, 2]]) },
      'the API responds with no 5xx but 503 and 504',
      /^2 responses had status 500$/,
    ],
    [
      'an event without a request',
      { ...good, visits: good.visits.slice(0, -1) },
      'every event has a request',
      /^shop: no request explains the event 200/,
    ],
    [
      'a request with two events',
      {
        ...good,
        ...withDatabase({ events: [...database.events, eventAt(6, false, { id: 'twin', slot: null })] }),
      },
      'every event has a request',
      /no request explains the event 500/,
    ],
    [
      'a slot that was recorded twice',
      {
        ...withDatabase({
          events: [...database.events, eventAt(21, true, { slot: START + 20_000 })],
        }),
        visits: [...good.visits, visitAt(20, true)],
        tails: new Map([[MONITOR.id, [...database.events.map(({ id }) => id), 'event-21']]]),
      },
      'a slot is recorded once',
      /event-21 repeats/,
    ],
    [
      'a monitor that is unchecked for longer than its interval and 15 s',
      { ...good, endedAt: START + 41_000 },
      'no monitor stays unchecked',
      /^shop \(every 5 s\) had no check from north for 21 s/,
    ],
    [
      'an event that tailing missed',
      { ...good, tails: new Map([[MONITOR.id, ['event-0', 'event-5', 'event-15', 'event-20']]]) },
      'tailing misses and repeats nothing',
      /1 missing, 0 repeated/,
    ],
    [
      'an event that tailing repeated',
      {
        ...good,
        tails: new Map([[MONITOR.id, ['event-0', 'event-0', 'event-5', 'event-10', 'event-15', 'event-20']]]),
      },
      'tailing misses and repeats nothing',
      /0 missing, 1 repeated/,
    ],
    [
      'an event at the end that tailing missed',
      { ...good, tails: new Map([[MONITOR.id, ['event-0', 'event-5', 'event-10', 'event-15']]]) },
      'tailing misses and repeats nothing',
      /1 missing/,
    ],
    [
      'a failure that changed no status',
      {
        ...withDatabase({ events: withOne(database.events, 3, () => eventAt(15, false)) }),
        visits: withOne(good.visits, 3, () => visitAt(15, false)),
      },
      'statuses follow from events',
      /change 3 should be UP to DOWN/,
    ],
    [
      'a status change without a cause',
      {
        ...withDatabase({ events: withOne(database.events, 1, () => eventAt(5, true)) }),
        visits: withOne(good.visits, 1, () => visitAt(5, true)),
      },
      'statuses follow from events',
      /change 1 should be none, and is UP to DOWN/,
    ],
    [
      'a chain of changes with a gap',
      withDatabase({ statusChanges: database.statusChanges.filter((_, index) => index !== 1) }),
      'statuses follow from events',
      /change 1 does not continue/,
    ],
    [
      'a change that lacks a webhook event',
      withDatabase({
        statusChanges: withOne(database.statusChanges, 1, (change) => ({
          ...change,
          webhookEvents: change.webhookEvents.slice(0, 1),
        })),
      }),
      'each status change has its webhook events',
      /has monitor.down instead of monitor.down,incident.created/,
    ],
    [
      'a payload with another status',
      withDatabase({
        statusChanges: withOne(database.statusChanges, 1, (change) => ({
          ...change,
          webhookEvents: withOne(change.webhookEvents, 0, (one) => ({
            ...one,
            payload: one.payload.replace('"DOWN"', '"UP"'),
          })),
        })),
      }),
      'each status change has its webhook events',
      /has a wrong payload of monitor.down/,
    ],
    [
      'two webhook events with the same timestamp',
      withDatabase({
        statusChanges: withOne(database.statusChanges, 1, (change) => ({
          ...change,
          webhookEvents: change.webhookEvents.map((one) => ({
            ...one,
            payload: one.payload.replace(/05\.10\d/, '05.101'),
          })),
        })),
      }),
      'each status change has its webhook events',
      /not later than the one before/,
    ],
    [
      'two open incidents',
      withDatabase({
        incidents: [
          ...database.incidents,
          { monitorId: MONITOR.id, openedAt: START + 6_000, resolvedAt: START + 7_000 },
        ],
      }),
      'one incident for each outage',
      /has an incident from .*:06.000Z to .*:07.000Z, and was not DOWN then/,
    ],
    [
      'an incident that stayed open',
      withDatabase({ incidents: database.incidents.map((one) => ({ ...one, resolvedAt: null })) }),
      'one incident for each outage',
      /has an incident from .* until now, and was not DOWN then/,
    ],
    [
      'a status that the API does not show',
      { ...good, shown: new Map([[MONITOR.id, 'DOWN']]) },
      'each monitor shows the state of its target',
      /the API shows DOWN/,
    ],
  ])('%s', (_, record, invariant, detail) => {
    expect(detailsOf(record, invariant)).toContainEqual(expect.stringMatching(detail));
  });
});
