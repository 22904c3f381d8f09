import { describe, expect, test } from '@jest/globals';
import {
  findSearchErrors,
  formatDays,
  presetDays,
  presetOf,
  reportSearchSchema,
  toInstants,
  withPeriod,
} from './report-period.ts';

const NOW = Date.parse('2026-02-28T23:30:00Z');

describe('presetDays', () => {
  test.each([
    ['this-month', 'UTC', '2026-02-01', '2026-02-28'],
    ['last-month', 'UTC', '2026-01-01', '2026-01-31'],
    ['this-quarter', 'UTC', '2026-01-01', '2026-03-31'],
    ['last-quarter', 'UTC', '2025-10-01', '2025-12-31'],
    ['this-month', 'Europe/Berlin', '2026-03-01', '2026-03-31'],
    ['last-month', 'Europe/Berlin', '2026-02-01', '2026-02-28'],
  ] as const)('%s in %s is %s to %s', (preset, zone, from, to) => {
    expect(presetDays(preset, NOW, zone)).toEqual({ from, to });
    expect(presetOf({ from, to }, NOW, zone)).toBe(preset);
  });

  test('other days are no preset', () => {
    expect(presetOf({ from: '2026-02-01', to: '2026-02-27' }, NOW, 'UTC')).toBeNull();
  });
});

test.each([
  ['UTC', '2026-03-01T00:00:00.000Z', '2026-04-01T00:00:00.000Z'],
  // The clocks change within the month.
  ['Europe/Berlin', '2026-02-28T23:00:00.000Z', '2026-03-31T22:00:00.000Z'],
  ['Asia/Kolkata', '2026-02-28T18:30:00.000Z', '2026-03-31T18:30:00.000Z'],
])('March in %s', (zone, from, to) => {
  expect(toInstants({ from: '2026-03-01', to: '2026-03-31' }, zone)).toEqual({ from, to });
});

test('a day whose midnight is skipped begins after it', () => {
  const { from, to } = toInstants({ from: '2026-03-29', to: '2026-03-29' }, 'Asia/Beirut');
  expect({ from, to }).toEqual({ from: '2026-03-28T22:00:00.000Z', to: '2026-03-29T21:00:00.000Z' });
});

describe('the search', () => {
  test('gets the last month in the reader’s zone', () => {
    const zone = new Intl.DateTimeFormat().resolvedOptions().timeZone;
    const filled = withPeriod({ groupBy: 'app' }, NOW);
    expect(filled).toEqual({ groupBy: 'app', ...presetDays('last-month', NOW, zone), zone });
    expect(filled && withPeriod(filled, NOW)).toBeNull();
  });

  test('keeps the days of a link, and its zone', () => {
    const days = { from: '2026-01-01', to: '2026-01-02' };
    expect(withPeriod(days, NOW)).toMatchObject(days);
    expect(withPeriod({ zone: 'Asia/Kolkata' }, NOW)).toMatchObject({
      zone: 'Asia/Kolkata',
      to: '2026-02-28',
    });
  });

  test('ignores what is invalid', () => {
    const given = {
      from: '2026-02-30',
      to: 'x',
      zone: 'Moon/Crater',
      maintenance: 'maybe',
      order: 1,
      groupBy: 7,
    };
    expect(reportSearchSchema.parse(given)).toEqual({ groupBy: '7' });
  });
});

test.each([
  ['UTC', '2026-02-28', '2026-02-28', '', {}],
  ['UTC', '2026-02-01', '2026-03-31', 'team in (shop)', {}],
  ['UTC', '2026-03-01', '2026-02-01', '', { from: 'Choose a day in the past.' }],
  // There, the next day has begun.
  ['Europe/Berlin', '2026-03-01', '2026-03-01', '', {}],
  ['UTC', '2026-02-02', '2026-02-01', '', { to: 'Choose the first day or a later one.' }],
  ['UTC', '2026-02-01', '2026-02-28', 'team in (shop', { selector: expect.stringMatching(/ends too early/) }],
])('in %s, the errors of %s to %s with the labels "%s" are %j', (zone, from, to, selector, errors) => {
  expect(findSearchErrors({ zone, from, to, selector }, NOW)).toEqual(errors);
});

test.each([
  ['2026-10-01', '2026-10-31', '1 – 31 October 2026'],
  ['2026-10-01', '2026-10-01', '1 October 2026'],
])('formats the days from %s to %s', (from, to, text) => {
  expect(formatDays({ from, to }, 'en-GB').replaceAll(/\s/g, ' ')).toBe(text);
});
