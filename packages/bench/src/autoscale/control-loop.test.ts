import { expect, test } from '@jest/globals';
import { countTurns, scaleDurations } from './control-loop.ts';

test.each([
  ['nothing', [2], 0],
  ['up in several steps and down in several', [2, 4, 5, 3, 2], 0],
  ['up only', [2, 5], 0],
  ['down first', [2, 1, 5, 2], 1],
  ['down and up again while the load stays', [2, 5, 4, 5, 2], 2],
])('countTurns, %s', (_name, replicas, turns) => {
  const changes = replicas.slice(1).map((to, index) => ({ from: replicas[index] ?? 0, to }));
  expect(countTurns(changes)).toBe(turns);
});

test.each([
  ['30s', 0.1, '3000ms'],
  ['rate(a{b="c"}[2m]) and rate(d[90s])', 0.5, 'rate(a{b="c"}[60000ms]) and rate(d[45000ms])'],
])('scaleDurations(%j, %d)', (text, pace, expected) => {
  expect(scaleDurations(text, pace)).toBe(expected);
});
