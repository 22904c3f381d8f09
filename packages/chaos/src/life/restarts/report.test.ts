import { expect, test } from '@jest/globals';
import { HEALTHY_LOAD } from '../../testing/load-report.ts';
import { evidenceOf, faultsOf, tableOf, type RestartReport } from './report.ts';

const HEALTHY: RestartReport = {
  ...HEALTHY_LOAD,
  seconds: 60,
  stops: [
    { name: 'api', exitCode: 0, stopMs: 1_000, startMs: 700 },
    { name: 'checker 1', exitCode: 0, stopMs: 300, startMs: 600 },
    { name: 'checker 2', exitCode: 0, stopMs: 500, startMs: null },
    { name: 'notifier', exitCode: 0, stopMs: 200, startMs: 500 },
  ],
  stalls: { stalled: [], seen: 1_000, unseen: 0, silent: [] },
  histories: [],
};

test('a run in order: no faults, and a row for each kind of service', () => {
  expect(faultsOf(HEALTHY)).toEqual([]);
  expect(tableOf(HEALTHY)).toContain('| checker | 2 | 2 | 0.30, 0.50 s | 0.60, 0.60 s |');
});

test.each<[string, Partial<RestartReport['stalls']>]>([
  ['1 jobs stalled', { stalled: ['checks 1'] }],
  ['1 queues had no event that the watch saw', { silent: ['checks'] }],
  ['2 events of the queues were not seen, and may have been stalls', { unseen: 2 }],
])('%s', (fault, change) => {
  expect(faultsOf({ ...HEALTHY, stalls: { ...HEALTHY.stalls, ...change } })).toEqual([fault]);
});

test('what went wrong under load is wrong here', () => {
  const stops = [{ name: 'api', exitCode: 1, stopMs: 1, startMs: 1 }];
  expect(faultsOf({ ...HEALTHY, stops })).toEqual(['1 services ended with another code than 0']);
  expect(evidenceOf({ ...HEALTHY, stops })).toEqual([JSON.stringify(stops[0])]);
});
