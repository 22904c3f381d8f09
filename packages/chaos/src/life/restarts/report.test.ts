import { expect, test } from '@jest/globals';
import { evidenceOf, faultsOf, tableOf, type RestartReport } from './report.ts';

const HEALTHY: RestartReport = {
  seed: 1,
  seconds: 60,
  restarts: [
    { name: 'api', exitCode: 0, stopMs: 1_000, startMs: 700 },
    { name: 'checker 1', exitCode: 0, stopMs: 300, startMs: 600 },
    { name: 'checker 2', exitCode: 0, stopMs: 500, startMs: null },
    { name: 'notifier', exitCode: 0, stopMs: 200, startMs: 500 },
  ],
  stalls: { stalled: [], seen: 1_000, unseen: 0 },
  findings: {
    slots: 10,
    missed: 0,
    missReasons: {},
    repeated: 0,
    events: 12,
    askedOtherwise: [],
    statusChanges: 2,
    deliveries: 4,
    received: 4,
    failures: [],
    duplicates: [],
    lost: [],
    strangers: [],
    toldOtherwise: [],
    notStreamed: [],
  },
  api: { answered: 10, refused: 3, notTaken: 1, broken: [], unexpected: [] },
  stream: { opened: 2, unavailable: 1, unexpected: 0, ended: 1, broken: 0, records: 12, resets: 0 },
  logs: { errors: [], warnings: ['{"level":"warn"}'] },
  histories: [],
};

test('a run in order: no faults, and a row for each kind of service', () => {
  expect(faultsOf(HEALTHY)).toEqual([]);
  expect(tableOf(HEALTHY)).toContain('| checker | 2 | 2 | 0.30, 0.50 s | 0.60, 0.60 s |');
});

test.each<[string, Partial<RestartReport>]>([
  [
    '1 restarts ended with another code than 0',
    { restarts: [{ name: 'api', exitCode: 1, stopMs: 1, startMs: 1 }] },
  ],
  [
    '1 services took over 30 s to stop',
    { restarts: [{ name: 'api', exitCode: 0, stopMs: 30_001, startMs: 1 }] },
  ],
  ['1 jobs stalled', { stalls: { stalled: ['checks 1'], seen: 9, unseen: 0 } }],
  [
    '2 events of the queues were not seen, and may have been stalls',
    { stalls: { stalled: [], seen: 9, unseen: 2 } },
  ],
  ['1 calls of the API were broken off', { api: { ...HEALTHY.api, broken: ['GET /: reset'] } }],
  ['1 calls of the API had an unexpected answer', { api: { ...HEALTHY.api, unexpected: ['GET /: 500'] } }],
  ['1 live streams were broken off', { stream: { ...HEALTHY.stream, broken: 1 } }],
  ['1 lines in the logs are errors', { logs: { errors: ['{"level":"error"}'], warnings: [] } }],
  ['1 planned checks were missed', { findings: { ...HEALTHY.findings, missed: 1 } }],
])('%s', (fault, change) => {
  expect(faultsOf({ ...HEALTHY, ...change })).toEqual([fault]);
});

test('what is wrong is shown', () => {
  const findings = { ...HEALTHY.findings, lost: ['a', 'b'] };
  const logs = { errors: ['{"level":"error"}'], warnings: [] };
  expect(evidenceOf({ ...HEALTHY, findings, logs })).toEqual(['{"level":"error"}', 'lost: a', 'lost: b']);
});
