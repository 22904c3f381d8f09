import { expect, test } from '@jest/globals';
import { faultsOf, tableOf, trendsOf, type SoakReport } from './report.ts';
import type { Sample } from './sample.ts';

const MB = 1_000_000;

/** Half an hour, a sample every five seconds, of a checker's heap that grows by so much in an hour. */
function samples(growthPerHour: number): [number, Sample][] {
  return Array.from({ length: 361 }, (_, index) => {
    const heap = 50 * MB + (growthPerHour * index) / 720;
    return [
      index * 5_000,
      new Map([
        ['checker 1, heap', heap],
        ['checker 1, files', 40],
        ['redis, used', 3 * MB],
      ]),
    ];
  });
}

const HEALTHY: SoakReport = {
  seed: 1,
  minutes: 30,
  trends: trendsOf(samples(0)),
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
  api: { answered: 10, refused: 0, notTaken: 0, broken: [], unexpected: [] },
  stream: { opened: 1, unavailable: 0, unexpected: 0, ended: 0, broken: 0, records: 12, resets: 0 },
  logs: { errors: [], warnings: [] },
};

test('a soak in order: no faults, and a row for each thing that was measured', () => {
  expect(faultsOf(HEALTHY)).toEqual([]);
  expect(tableOf(HEALTHY)).toContain('| checker 1, heap | 50 | 50 | 50 | 0 | 16 | flat |');
});

test('what grows is named, with its verdict in its row', () => {
  const report = { ...HEALTHY, trends: trendsOf(samples(17 * MB)) };
  expect(faultsOf(report)).toEqual(['checker 1, heap grows']);
  expect(tableOf(report)).toMatch(/checker 1, heap .*\*\*GROWS\*\*/);
});

test('a run that is too short for a verdict gives none', () => {
  const report = { ...HEALTHY, minutes: 9, trends: trendsOf(samples(17 * MB)) };
  expect(faultsOf(report)).toEqual([]);
  expect(tableOf(report)).not.toContain('GROWS');
});

test.each<[string, Partial<SoakReport>]>([
  [
    '1 calls of the API were not answered as they should be',
    { api: { ...HEALTHY.api, broken: ['GET /: reset'] } },
  ],
  ['1 times the live stream broke off or began anew', { stream: { ...HEALTHY.stream, resets: 1 } }],
  ['1 lines in the logs are errors', { logs: { errors: ['{"level":"error"}'], warnings: [] } }],
  ['1 webhooks came more than once', { findings: { ...HEALTHY.findings, duplicates: ['a'] } }],
])('%s', (fault, change) => {
  expect(faultsOf({ ...HEALTHY, ...change })).toEqual([fault]);
});
