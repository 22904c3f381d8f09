import { describe, expect, test } from '@jest/globals';
import { checkLoad, Results } from './command.ts';
import { problemsOf, type Findings } from './findings.ts';

const GOOD: Findings = {
  seconds: 60,
  slots: 30_000,
  missed: 0,
  repeated: 0,
  latestMs: 900,
  down: 120,
  falseDown: 0,
  webhooks: 400,
  repeatedWebhooks: 2,
  lost: 0,
  inconsistent: [],
};

describe('problemsOf', () => {
  test('allows repeated webhooks, and a share of missed slots when parts were killed', () => {
    expect(problemsOf(GOOD)).toEqual([]);
    expect(problemsOf({ ...GOOD, missed: 300 }, 0.01)).toEqual([]);
    expect(problemsOf({ ...GOOD, missed: 301 }, 0.01)).toEqual(['301 check slots were missed']);
  });

  test.each<[string, Partial<Findings>]>([
    ['3 check slots were missed', { missed: 3 }],
    ['1 check slots have more than one event', { repeated: 1 }],
    ['2 events are DOWN although their target was up', { falseDown: 2 }],
    ['4 webhooks were lost', { lost: 4 }],
    ['1 monitors have other webhooks than their events imply', { inconsistent: ['a'] }],
    ['no check slot was in the span', { slots: 0 }],
    ['no target failed in the span', { down: 0 }],
  ])('reports: %s', (problem, change) => {
    expect(problemsOf({ ...GOOD, ...change })).toEqual([problem]);
  });
});

test('results are printed as a table with a line for each problem', () => {
  const results = new Results();
  results.addFindings('upgrade', { ...GOOD, lost: 1 });
  expect(results.toString()).toContain('| upgrade: webhooks so far; repeated; lost | 400; 2; 1 |');
  expect(results.toString()).toMatch(/\nPROBLEM: upgrade: 1 webhooks were lost$/);
});

test('the load is limited to the monitors that one request can apply', () => {
  expect(() => checkLoad({ rate: 500, interval: 20 })).not.toThrow();
  expect(() => checkLoad({ rate: 2_000, interval: 20 })).toThrow(
    '--rate times --interval is 40000 monitors; at most 10000 are possible',
  );
});
