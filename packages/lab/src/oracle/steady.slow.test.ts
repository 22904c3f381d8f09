import { expect, test } from '@jest/globals';
import { eventAt, GOOD, MONITOR, visitAt } from '../testing/campaign-record.ts';
import { testViolations, type ViolationTable } from '../testing/violations.ts';
import { findViolations } from './find-violations.ts';
import type { SteadyRecord } from './record.ts';

const STEADY = { id: 'steady-id', key: 'steady' };
const COUNTS = { all: 5, passed: 4, failed: 1 };
const { visits, receipts, database } = GOOD;
const { events } = database;

/** Two monitors, one of which was down once. */
const HEALTHY: SteadyRecord = {
  ...GOOD,
  campaign: 'steady',
  restarts: 0,
  visits: [...visits, ...[0, 5, 10].map((second) => visitAt(second, true, { key: 'steady' }))],
  all: [{ id: MONITOR.id, key: MONITOR.plan.key }, STEADY],
  slots: { planned: 8, checked: 8, events: 8 },
  misses: {},
  eventCounts: new Map([
    [MONITOR.id, COUNTS],
    [STEADY.id, { all: 3, passed: 3, failed: 0 }],
  ]),
  failedAttempts: [],
  notStreamed: [],
  stops: [{ name: 'api-1', exitCode: 0, stopMs: 1_000 }],
  api: { responses: 10, broken: [], unexpected: [] },
  stream: { unavailable: 0, unexpected: 0, broken: 0, records: 12, resets: 0 },
  logErrors: [],
  stalls: { stalled: [], unseen: 0, silent: [] },
  growing: [],
};
const { api, stream, slots } = HEALTHY;
const stalls = { stalled: [], unseen: 0, silent: [] };

function withDatabase(fields: Partial<SteadyRecord['database']>): Partial<SteadyRecord> {
  return { database: { ...database, ...fields } };
}

test('a healthy run has no violations', () => {
  expect(findViolations(HEALTHY)).toEqual([]);
});

const VIOLATIONS: ViolationTable<Partial<SteadyRecord>> = {
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
  // One of the fault campaign's invariants, which hold here as well.
  'every event has a request': {
    'shop: no request explains the event 200 …': withDatabase({ events: [...events, eventAt(30, true)] }),
  },
  'the live stream has every event': {
    'event 1 is missing': { notStreamed: ['1'] },
    '1 streams broke': { stream: { ...stream, broken: 1 } },
    '1 streams had an unexpected status': { stream: { ...stream, unexpected: 1 } },
    '1 streams were refused with 503': { stream: { ...stream, unavailable: 1 } },
    '1 times a stream was reset': { stream: { ...stream, resets: 1 } },
  },
  'API calls get their response': {
    'GET /: reset': { api: { ...api, broken: ['GET /: reset'] } },
    'GET /: 500': { api: { ...api, unexpected: ['GET /: 500'] } },
  },
  'services stop cleanly': {
    'api ended with 1': { stops: [{ name: 'api', exitCode: 1, stopMs: 1 }] },
    'api took 30 s to stop': { stops: [{ name: 'api', exitCode: 0, stopMs: 30_001 }] },
  },
  'the logs have no errors': { crashed: { logErrors: ['crashed'] } },
  'no job stalls': {
    'checks 1 stalled': { stalls: { ...stalls, stalled: ['checks 1'] } },
    'checks has no event': { stalls: { ...stalls, silent: ['checks'] } },
    '2 events of the queues were trimmed': { stalls: { ...stalls, unseen: 2 } },
  },
  'nothing grows': { 'api-1, heap grows': { growing: ['api-1, heap'] } },
};

testViolations(VIOLATIONS, (change) => findViolations({ ...HEALTHY, ...change }));

test('an api that restarts may refuse live streams', () => {
  expect(findViolations({ ...HEALTHY, restarts: 1, stream: { ...stream, unavailable: 1 } })).toEqual([]);
});
