import { expect, test } from '@jest/globals';
import { eventAt, goodRecord, MONITOR, START, visitAt } from '../testing/campaign-record.ts';
import { tableOf } from '../restarts.ts';
import { findLoadViolations, type LoadRecord } from './load-record.ts';
import { totalsOf } from './report.ts';

const STEADY = { id: 'steady-id', key: 'steady' };
const { monitors, channels, visits, receipts, strays, database } = goodRecord();

/** Two monitors, one of which was down once. */
const HEALTHY: LoadRecord = {
  seed: 1,
  seconds: 60,
  monitors,
  channels,
  visits: [...visits, ...[0, 5, 10].map((second) => ({ ...visitAt(second, true), key: STEADY.key }))],
  receipts,
  strays,
  database,
  all: [{ id: MONITOR.id, key: MONITOR.plan.key }, STEADY],
  slots: { planned: 8, checked: 8, events: 8 },
  misses: {},
  eventCounts: new Map([
    [MONITOR.id, { all: 5, passed: 4, failed: 1 }],
    [STEADY.id, { all: 3, passed: 3, failed: 0 }],
  ]),
  failedAttempts: [],
  notStreamed: [],
  stops: [
    { name: 'api', exitCode: 0, stopMs: 1_000, startMs: 700 },
    { name: 'checker 1', exitCode: 0, stopMs: 300, startMs: 600 },
    { name: 'checker 2', exitCode: 0, stopMs: 500, startMs: null },
    { name: 'notifier', exitCode: 0, stopMs: 200, startMs: 500 },
  ],
  api: { responses: 10, refused: 0, notAccepted: 0, broken: [], unexpected: [] },
  stream: { opened: 1, unavailable: 0, unexpected: 0, ended: 0, broken: 0, records: 12, resets: 0 },
  logs: { errors: [], warnings: [] },
  stalls: { stalled: [], seen: 1_000, unseen: 0, silent: [] },
};
const { api, stream, stalls, slots } = HEALTHY;

test('a healthy run has no violations and a row for each service', () => {
  expect(findLoadViolations(HEALTHY)).toEqual([]);
  expect(tableOf(HEALTHY)).toContain('| checker | 2 | 2 | 0.30, 0.50 s | 0.60, 0.60 s |');
  expect(totalsOf(HEALTHY)).toContainEqual(['planned checks, missed, repeated', '8, 0, 0']);
});

test.each<[string, Partial<LoadRecord>, RegExp]>([
  [
    'a slot without an event',
    { slots: { ...slots, checked: 7, events: 7 }, misses: { overlap: 1 } },
    /^1 planned checks were missed; the checkers counted {"overlap":1}$/,
  ],
  ['a slot with two events', { slots: { ...slots, events: 9 } }, /^1 events repeat a planned check$/],
  [
    'a result that was dropped, or not recorded',
    { visits: [...HEALTHY.visits, { ...visitAt(20, true), key: STEADY.key }] },
    /^steady .* had 4 requests, 0 of them with 500, and has 3 events/,
  ],
  [
    'results of two monitors that were mixed up',
    {
      eventCounts: new Map([
        [MONITOR.id, { all: 5, passed: 5, failed: 0 }],
        [STEADY.id, { all: 3, passed: 2, failed: 1 }],
      ]),
    },
    /^steady .* and has 3 events: 2 with 200, 1 with 500$/,
  ],
  [
    'a run without a status change',
    { database: { ...database, statusChanges: [], deliveries: [] } },
    /^there were no status changes$/,
  ],
  ['a run without API calls', { api: { ...api, responses: 0 } }, /^there were no API calls$/],
  [
    'a run without a stream',
    { stream: { ...stream, records: 0 } },
    /^there were no records on the live stream$/,
  ],
  [
    'a webhook that was received twice',
    { receipts: [...receipts, ...receipts.slice(0, 1)] },
    /^delivery .* was received 2 times$/,
  ],
  ['an attempt that failed', { failedAttempts: ['TIMEOUT'] }, /^failed: TIMEOUT$/],
  [
    'a webhook that was not received',
    { receipts: receipts.slice(1) },
    /is delivered, but its receiver accepted nothing$/,
  ],
  [
    'a webhook that is not in Postgres',
    { database: { ...database, deliveries: database.deliveries.slice(1) } },
    /is no delivery of its channel$/,
  ],
  [
    'a status change without an alert',
    {
      database: {
        ...database,
        statusChanges: database.statusChanges.map((change) => ({ ...change, webhookEvents: [] })),
        deliveries: [],
      },
      receipts: [],
    },
    /^shop: change 1 should be UP to DOWN at .*, and is UP to DOWN silently/,
  ],
  [
    'an event that follows no request',
    { database: { ...database, events: [...database.events, eventAt(30, true, { slot: START + 30_000 })] } },
    /^shop: no request explains the event 200/,
  ],
  ['an event that was not streamed', { notStreamed: ['1'] }, /^event 1 is missing$/],
  ['a stream that broke', { stream: { ...stream, broken: 1 } }, /^1 streams broke$/],
  ['a stream with another status', { stream: { ...stream, unexpected: 1 } }, /^1 streams had an unexpected/],
  ['a stream that was reset', { stream: { ...stream, resets: 1 } }, /^1 times a stream was reset$/],
  ['a call that broke', { api: { ...api, broken: ['GET /: reset'] } }, /^GET \/: reset$/],
  ['a call with another status', { api: { ...api, unexpected: ['GET /: 500'] } }, /^GET \/: 500$/],
  [
    'a service that ended with an error',
    { stops: [{ name: 'api', exitCode: 1, stopMs: 1, startMs: 1 }] },
    /^api ended with 1$/,
  ],
  [
    'a service that stopped slowly',
    { stops: [{ name: 'api', exitCode: 0, stopMs: 30_001, startMs: 1 }] },
    /^api took 30 s to stop$/,
  ],
  ['an error in a log', { logs: { errors: ['{"level":"error"}'], warnings: [] } }, /^{"level":"error"}$/],
  [
    'a job that stalled',
    { stalls: { ...stalls, stalled: ['checks 1'] } as LoadRecord['stalls'] },
    /^checks 1 stalled$/,
  ],
  [
    'a queue without an event',
    { stalls: { ...stalls, silent: ['checks'] } as LoadRecord['stalls'] },
    /^checks has no event$/,
  ],
  [
    'queue events that were trimmed',
    { stalls: { ...stalls, unseen: 2 } as LoadRecord['stalls'] },
    /^2 events of the queues/,
  ],
])('findLoadViolations finds %s', (_, change, detail) => {
  const found = findLoadViolations({ ...HEALTHY, ...change }).map((violation) => violation.detail);
  expect(found).toContainEqual(expect.stringMatching(detail));
});
