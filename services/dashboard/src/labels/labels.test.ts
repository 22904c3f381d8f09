import { expect, test } from '@jest/globals';
import { completeSelector } from './complete-selector.ts';
import {
  type Coverage,
  describeCoverage,
  findSelectorErrors,
  isCovered,
  listCovered,
  toCoverage,
  toCoverageField,
  toCoverageValues,
} from './coverage.ts';
import { findLabelError, toLabels } from './label-text.ts';
import { readSelector, withLabel } from './selector-text.ts';

test('readSelector tells a blank text from an invalid one', () => {
  expect(readSelector('  ')).toEqual({ selector: null, error: null });
  expect(readSelector('app=shop')).toEqual({ selector: { matchLabels: { app: 'shop' } }, error: null });
  const error: unknown = expect.stringMatching(/unexpected "shop"/);
  expect(readSelector('app in shop')).toEqual({ selector: null, error });
});

test.each([
  ['', 'app=shop'],
  ['app=blog,!old', 'app=shop,!old'],
  ['app in (blog', 'app=shop'],
])('withLabel adds app=shop to %j', (text, expected) => {
  expect(withLabel(text, 'app', 'shop')).toBe(expected);
});

test.each([
  ['', ['app', 'app=blog', 'app=shop', 'tier', 'tier=web']],
  ['app=', ['app=blog', 'app=shop']],
  ['app=shop,ti', ['app=shop,tier', 'app=shop,tier=web']],
  ['app in (shop,ti', []],
  ['app in (shop),ti', ['app in (shop),tier', 'app in (shop),tier=web']],
])('completes the selector "%s"', (text, completed) => {
  const monitors = [{ labels: { app: 'shop', tier: 'web' } }, { labels: { app: 'blog' } }];
  expect(completeSelector(text, monitors)).toEqual(completed);
});

test('toLabels reads keys with and without values', () => {
  const labels = { app: 'shop', tier: 'web', canary: '', a: 'b=c' };
  expect(toLabels(['app=shop', ' tier = web', 'canary', 'a=b=c'])).toEqual(labels);
});

test.each([
  [['app=shop', 'canary'], /^none$/],
  [['app=shop', 'app=blog'], /^app: is given twice$/],
  [['app=my shop'], /^app: must be empty, or at most 63/],
  [['-app=shop'], /^-app: the key must be/],
])('findLabelError of %j', (texts, message) => {
  expect(findLabelError(texts) ?? 'none').toMatch(message);
});

const MONITORS = [
  { id: 'shop', labels: { app: 'shop' }, source: 'shop/monitors' },
  { id: 'blog', labels: { app: 'blog' }, source: 'blog' },
  { id: 'plain', labels: {}, source: null },
];
const NONE: Coverage = { monitorIds: [], allMonitors: false, selector: null };

test.each<[Partial<Coverage>, string[], string]>([
  [{}, [], 'No monitors yet'],
  [{ allMonitors: true }, ['shop', 'blog', 'plain'], 'All monitors'],
  [{ monitorIds: ['plain', 'deleted'] }, ['plain'], '1 monitor'],
  [{ selector: { matchLabels: { app: 'shop' } } }, ['shop'], '1 monitor'],
  [{ allMonitors: true, sources: ['shop/*'] }, ['shop'], '1 monitor'],
  [{ selector: {} }, ['shop', 'blog', 'plain'], '3 monitors'],
  [
    { monitorIds: ['plain', 'shop'], selector: { matchLabels: { app: 'shop' } } },
    ['shop', 'plain'],
    '2 monitors',
  ],
])('%j covers the monitors %j', (fields, ids, text) => {
  const coverage = { ...NONE, ...fields };
  expect(listCovered(coverage, MONITORS).map(({ id }) => id)).toEqual(ids);
  expect(MONITORS.filter((monitor) => isCovered(coverage, monitor)).map(({ id }) => id)).toEqual(ids);
  expect(describeCoverage(coverage, MONITORS)).toBe(text);
});

test('form values round-trip to the same coverage, and a selector without conditions means all monitors', () => {
  const coverage = { monitorIds: ['a'], allMonitors: false, selector: { matchLabels: { app: 'shop' } } };
  const values = toCoverageValues(coverage);
  expect(values).toEqual({ monitorIds: ['a'], allMonitors: false, selector: 'app=shop' });
  expect(toCoverage(values)).toEqual(coverage);
  const all = { monitorIds: [], allMonitors: true, selector: '' };
  expect(toCoverageValues({ ...NONE, selector: {} })).toEqual(all);
});

test('an invalid selector is an error unless all monitors are chosen', () => {
  const values = { monitorIds: [], allMonitors: false, selector: 'app in (' };
  const message: unknown = expect.stringMatching(/ends too early/);
  expect(findSelectorErrors(values)).toEqual([{ path: 'selector', message }]);
  expect(findSelectorErrors({ ...values, allMonitors: true })).toEqual([]);
  expect(findSelectorErrors({ ...values, selector: '' })).toEqual([]);
});

test('errors of the API appear at the selector', () => {
  const error = { path: 'selector.matchLabels.app', message: 'must be a string' };
  const message = 'matchLabels.app: must be a string';
  expect(toCoverageField(error)).toEqual({ path: 'selector', message });
  const other = { path: 'name', message: 'is required' };
  expect(toCoverageField(other)).toEqual(other);
});
