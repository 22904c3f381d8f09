import { expect, test } from '@jest/globals';
import { HEALTHY_LOAD } from '../testing/load-report.ts';
import { evidenceOf, faultsOf, type LoadReport } from './report.ts';

const { api, stream, findings } = HEALTHY_LOAD;

test('a run in order has no faults', () => {
  expect(faultsOf(HEALTHY_LOAD)).toEqual([]);
});

test.each<[string, Partial<LoadReport>]>([
  ['1 services ended with another code than 0', { stops: [{ name: 'api', exitCode: 1, stopMs: 1 }] }],
  ['1 services took over 30 s to stop', { stops: [{ name: 'api', exitCode: 0, stopMs: 30_001 }] }],
  ['there were no calls of the API', { api: { ...api, answered: 0 } }],
  ['1 calls of the API were broken off', { api: { ...api, broken: ['GET /: reset'] } }],
  ['1 calls of the API had an unexpected answer', { api: { ...api, unexpected: ['GET /: 500'] } }],
  ['1 live streams were broken off', { stream: { ...stream, broken: 1 } }],
  ['1 times a live stream had to begin anew', { stream: { ...stream, resets: 1 } }],
  ['there were no records over the live stream', { stream: { ...stream, records: 0 } }],
  ['1 lines in the logs are errors', { logs: { errors: ['{"level":"error"}'], warnings: [] } }],
  ['1 planned checks were missed', { findings: { ...findings, missed: 1 } }],
  ['1 webhooks came more than once', { findings: { ...findings, duplicates: ['a'] } }],
])('%s', (fault, change) => {
  expect(faultsOf({ ...HEALTHY_LOAD, ...change })).toEqual([fault]);
});

test('what is wrong is shown', () => {
  const report = {
    ...HEALTHY_LOAD,
    findings: { ...findings, lost: ['a', 'b'] },
    logs: { errors: ['{"level":"error"}'], warnings: [] },
  };
  expect(evidenceOf(report)).toEqual(['{"level":"error"}', 'lost: a', 'lost: b']);
});
