import { expect, test } from '@jest/globals';
import { formatDuration, parseDuration } from './duration.ts';

const MINUTE_MS = 60_000;

test.each([
  ['90 min', 90],
  ['90', 90],
  ['1.5 h', 90],
  ['1,5h', 90],
  ['2h30', 150],
  ['2 h 30 min', 150],
  ['1 day 2 hours', 1_560],
  ['', null],
  ['0', null],
  ['soon', null],
  ['999999999 d', null],
  ['2 h or so', null],
])('reads "%s"', (text, minutes) => {
  expect(parseDuration(text)).toBe(minutes === null ? null : minutes * MINUTE_MS);
});

test('says it in full, and reads what it says', () => {
  for (const [minutes, text] of [
    [45, '45 min'],
    [120, '2 h'],
    [1_590, '1 d 2 h 30 min'],
  ] as const) {
    expect(formatDuration(minutes * MINUTE_MS)).toBe(text);
    expect(parseDuration(text)).toBe(minutes * MINUTE_MS);
  }
  expect(formatDuration(20_000)).toBe('0 min');
});
