import { expect, test } from '@jest/globals';
import { parseDuration } from './duration.ts';

const MINUTE_MS = 60_000;

test.each([
  ['90 min', 90],
  ['90', 90],
  [' 90m ', 90],
  ['90 minutes', 90],
  ['1:30', 90],
  ['01:30', 90],
  ['1.5 h', 90],
  ['1,5h', 90],
  ['1.5 hrs', 90],
  ['1h 30m', 90],
  ['1 h 30 min', 90],
  ['2h30', 150],
  ['2 hours', 120],
  ['1 day 2 hours', 1_560],
  ['2 d', 2_880],
  ['90 s', 1.5],
  ['0.5 h', 30],
  ['30 d', 43_200],
  ['720:00', 43_200],
])('reads "%s"', (text, minutes) => {
  expect(parseDuration(text)).toEqual({ durationMs: minutes * MINUTE_MS, error: null });
});

test.each([
  ['', /^Enter a duration, such as 90 min/],
  ['banana', /^Enter a duration, such as 90 min/],
  ['soon', /^Enter a duration/],
  ['2 h or so', /^Enter a duration/],
  ['1:75', /^Enter a duration/],
  ['1:3', /^Enter a duration/],
  ['-5', /^Enter a duration/],
  ['3 months', /^Enter a duration/],
  ['2 mo', /^Enter a duration/],
  ['0', /^Must be at least 1 minute/],
  ['0:00', /^Must be at least 1 minute/],
  ['30 s', /^Must be at least 1 minute/],
  ['400 d', /^Must be at most 30 days/],
  ['30 d 1 min', /^Must be at most 30 days/],
  ['999999999 d', /^Must be at most 30 days/],
])('says what is wrong with "%s"', (text, message) => {
  expect(parseDuration(text)).toEqual({ durationMs: null, error: expect.stringMatching(message) });
});
