import { describe, expect, test } from '@jest/globals';
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
