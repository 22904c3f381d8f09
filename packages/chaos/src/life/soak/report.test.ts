import { expect, test } from '@jest/globals';
import { HEALTHY_LOAD } from '../../testing/load-report.ts';
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

const HEALTHY: SoakReport = { ...HEALTHY_LOAD, minutes: 30, trends: trendsOf(samples(0)) };

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
  ['1 live streams were told to come later', { stream: { ...HEALTHY_LOAD.stream, unavailable: 1 } }],
  ['1 services ended with another code than 0', { stops: [{ name: 'notifier', exitCode: null, stopMs: 1 }] }],
])('%s', (fault, change) => {
  expect(faultsOf({ ...HEALTHY, ...change })).toEqual([fault]);
});
