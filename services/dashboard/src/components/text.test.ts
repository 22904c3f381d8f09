import { expect, test } from '@jest/globals';
import { toCsv } from './csv.ts';
import { filterMonitors, sortMonitors } from './filter-monitors.ts';
import { toFormErrors } from './form.ts';
import { describeCause, formatClock, formatLocal, formatSpan, listNames, zoneName } from './format.ts';

test.each([
  ['UNKNOWN_ERROR', 'the certificate expired 3 days ago', 'The certificate expired 3 days ago'],
  ['HTTP_503', null, 'The status code was 503'],
  ['UNKNOWN_ERROR', '', 'Failed without a recorded cause'],
  [null, null, 'No cause recorded'],
] as const)('describes %s with the detail %j as "%s"', (cause, detail, text) => {
  expect(describeCause(cause, detail)).toBe(text);
});

test.each([
  [0.5, 2, '0 s'],
  [187_200, 2, '2 d 4 h'],
  [86_430, 2, '1 d'],
  [95_400, 4, '1 d 2 h 30 min'],
])('formats %d s in %d units as %s', (seconds, units, text) => {
  expect(formatSpan(seconds, units)).toBe(text);
});

test('a time names its zone, with and without its date', () => {
  const date = new Date('2026-03-01T12:00:00.000Z');
  const zone = zoneName(date);
  expect(zone).not.toBe('');
  for (const text of [formatLocal(date), formatClock(date, date.getTime()), formatClock(date, Date.now())])
    expect(text).toContain(` ${zone}`);
});

test('listNames shows a few names and counts the rest', () => {
  expect(listNames([])).toBe('');
  expect(listNames(['a', 'b', 'c'])).toBe('a, b and c');
  expect(listNames(['a', 'b', 'c', 'd', 'e'])).toBe('a, b, c and 2 more');
});

test('the first error of a field counts, and an element counts for its list', () => {
  const errors = ['ids.3', 'ids', 'name'].map((path, index) => ({ path, message: `Error ${index}.` }));
  expect(toFormErrors(errors)).toEqual({ ids: 'Error 0.', name: 'Error 2.' });
});

const monitors = ['Shop 10', 'Blog', 'Shop 9'].map((name, index) => ({
  id: String(index),
  name,
  url: `https://${index}.example/health`,
}));
const names = (found: readonly { name: string }[]): string[] => found.map(({ name }) => name);

test('matches every word in the name or the URL', () => {
  expect(names(filterMonitors(monitors, ' SHOP '))).toEqual(['Shop 10', 'Shop 9']);
  expect(names(filterMonitors(monitors, 'shop 2.example'))).toEqual(['Shop 9']);
  expect(filterMonitors(monitors, '')).toEqual(monitors);
  expect(filterMonitors(monitors, 'nothing')).toEqual([]);
});

test('sorts by name with numeric order, selected monitors first', () => {
  expect(names(sortMonitors(monitors))).toEqual(['Blog', 'Shop 9', 'Shop 10']);
  expect(names(sortMonitors(monitors, new Set(['0'])))).toEqual(['Shop 10', 'Blog', 'Shop 9']);
});

test.each([
  ['Shop, new', '"Shop, new"'],
  ['The "shop"', '"The ""shop"""'],
])('the text %j becomes the field %j', (text, field) => {
  expect(toCsv(['Name'], [[text]])).toBe(`Name\r\n${field}\r\n`);
});

test.each([
  ['=1+1', "'=1+1"],
  ['+49 30 1234', "'+49 30 1234"],
  ['@shop', "'@shop"],
  ['＝1+1', "'＝1+1"],
  ['\t=1+1', "'\t=1+1"],
  ['\r=1+1', '"\'\r=1+1"'],
  ['=HYPERLINK("https://evil.example","a")', '"\'=HYPERLINK(""https://evil.example"",""a"")"'],
])('the text %j never becomes a formula', (text, field) => {
  expect(toCsv([text], [[text]])).toBe(`${field}\r\n${field}\r\n`);
});
