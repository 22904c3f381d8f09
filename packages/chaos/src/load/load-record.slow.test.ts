import { expect, test } from '@jest/globals';
import { eventAt, GOOD, MONITOR, visitAt } from '../testing/campaign-record.ts';
import { testViolations, type ViolationTable } from '../testing/violations.ts';
import { tableOf } from '../restarts.ts';
import { findLoadViolations, type LoadRecord } from './load-record.ts';
import { totalsOf } from './report.ts';

const STEADY = { id: 'steady-id', key: 'steady' };
const COUNTS = { all: 5, passed: 4, failed: 1 };
const { monitors, channels, visits, receipts, strays, database } = GOOD;
const { events } = database;

/** Two monitors, one of which was down once. */
const HEALTHY = {
  seed: 1,
  seconds: 60,
  monitors,
  channels,
  visits: [...visits, ...[0, 5, 10].map((second) => visitAt(second, true, { key: 'steady' }))],
  receipts,
  strays,
  database,
  all: [{ id: MONITOR.id, key: MONITOR.plan.key }, STEADY],
  slots: { planned: 8, checked: 8, events: 8 },
  misses: {},
  eventCounts: new Map([
    [MONITOR.id, COUNTS],
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
} satisfies LoadRecord;
const { api, stream, stalls, slots } = HEALTHY;

function withDatabase(fields: Partial<LoadRecord['database']>): Partial<LoadRecord> {
  return { database: { ...database, ...fields } };
}

test('a healthy run has no violations and a row for each service', () => {
  expect(findLoadViolations(HEALTHY)).toEqual([]);
  expect(tableOf(HEALTHY)).toContain('| checker | 2 | 2 | 0.30, 0.50 s | 0.60, 0.60 s |');
  expect(totalsOf(HEALTHY)).toContainEqual(['planned checks, missed, repeated', '8, 0, 0']);
});

const VIOLATIONS: ViolationTable<Partial<LoadRecord>> = {
  'the run has something to lose': {
    'there were no planned checks': { slots: { planned: 0, checked: 0, events: 0 } },
    'there were no status changes': withDatabase({ statusChanges: [] }),
  },
  'every planned check is recorded once': {
    '1 planned checks were missed; the checkers counted {"overlap":1}': {
      slots: { ...slots, checked: 7, events: 7 },
      misses: { overlap: 1 },
    },
    '1 events repeat a planned check': { slots: { ...slots, events: 9 } },
  },
  'every request is one event': {
    // A result was dropped, or not recorded.
    'steady … had 4 requests, 0 of them with 500, and has 3 events: …': {
      visits: [...HEALTHY.visits, visitAt(20, true, { key: 'steady' })],
    },
    // Results of two monitors were mixed up.
    'steady … and has 3 events: 2 with 200, 1 with 500': {
      eventCounts: new Map([...HEALTHY.eventCounts, [STEADY.id, { all: 3, passed: 2, failed: 1 }]]),
    },
  },
  'every webhook is sent once': {
    'delivery … was received 2 times': { receipts: [...receipts, ...receipts.slice(0, 1)] },
    'failed: TIMEOUT': { failedAttempts: ['TIMEOUT'] },
  },
  // One of the invariants of the fault campaign, which hold here as well.
  'every event has a request': {
    'shop: no request explains the event 200 …': withDatabase({ events: [...events, eventAt(30, true)] }),
  },
  'the live stream has every event': {
    'event 1 is missing': { notStreamed: ['1'] },
    '1 streams broke': { stream: { ...stream, broken: 1 } },
    '1 streams had an unexpected status': { stream: { ...stream, unexpected: 1 } },
    '1 times a stream was reset': { stream: { ...stream, resets: 1 } },
  },
  'API calls get their response': {
    'GET /: reset': { api: { ...api, broken: ['GET /: reset'] } },
    'GET /: 500': { api: { ...api, unexpected: ['GET /: 500'] } },
  },
  'services stop cleanly': {
    'api ended with 1': { stops: [{ name: 'api', exitCode: 1, stopMs: 1, startMs: 1 }] },
    'api took 30 s to stop': { stops: [{ name: 'api', exitCode: 0, stopMs: 30_001, startMs: 1 }] },
  },
  'the logs have no errors': { crashed: { logs: { errors: ['crashed'], warnings: [] } } },
  'no job stalls': {
    'checks 1 stalled': { stalls: { ...stalls, stalled: ['checks 1'] } },
    'checks has no event': { stalls: { ...stalls, silent: ['checks'] } },
    '2 events of the queues were trimmed': { stalls: { ...stalls, unseen: 2 } },
  },
};

testViolations(VIOLATIONS, (change) => findLoadViolations({ ...HEALTHY, ...change }));
