import { expect, test } from '@jest/globals';
import { nextConditions } from './conditions.ts';

const EARLIER = new Date('2026-01-01T00:00:00.500Z');
const LATER = new Date('2026-01-02T00:00:00Z');
const OK = { problem: null, failure: null };

test('conditions say why a resource is not accepted or not synced, and keep their transition time', () => {
  const first = nextConditions([], OK, 1, EARLIER);
  expect(first.map(({ type, status, lastTransitionTime }) => [type, status, lastTransitionTime])).toEqual([
    ['Accepted', 'True', '2026-01-01T00:00:00Z'],
    ['Synced', 'True', '2026-01-01T00:00:00Z'],
  ]);
  expect(nextConditions(first, OK, 1, LATER)).toEqual(first);
  const failure = { reason: 'TocsinUnavailable', message: 'no connection' };
  expect(nextConditions(first, { problem: null, failure }, 2, LATER)).toMatchObject([
    { status: 'True', lastTransitionTime: '2026-01-01T00:00:00Z', observedGeneration: 2 },
    { status: 'False', ...failure, lastTransitionTime: '2026-01-02T00:00:00Z' },
  ]);
  const problem = { reason: 'Invalid', message: 'interval: must be …' } as const;
  expect(nextConditions(first, { problem, failure: null }, 2, LATER)).toMatchObject([
    { status: 'False', ...problem },
    { status: 'False', reason: 'NotAccepted' },
  ]);
});
