import { describe, expect, test } from '@jest/globals';
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

const MONITORS = [
  { id: 'shop', labels: { app: 'shop' }, source: 'shop/monitors' },
  { id: 'blog', labels: { app: 'blog' }, source: 'blog' },
  { id: 'plain', labels: {}, source: null },
];
const NONE: Coverage = { monitorIds: [], allMonitors: false, selector: null };

describe.each<[string, Coverage, string[], string]>([
  ['nothing', NONE, [], 'No monitors yet'],
  ['all monitors', { ...NONE, allMonitors: true }, ['shop', 'blog', 'plain'], 'All monitors'],
  ['a list', { ...NONE, monitorIds: ['plain', 'deleted'] }, ['plain'], '1 monitor'],
  ['a selector', { ...NONE, selector: { matchLabels: { app: 'shop' } } }, ['shop'], '1 monitor'],
  [
    'all monitors of some sources',
    { ...NONE, allMonitors: true, sources: ['shop/*'] },
    ['shop'],
    '1 monitor',
  ],
  ['a list and sources', { ...NONE, monitorIds: ['plain'], sources: ['blog'] }, ['plain'], '1 monitor'],
  ['an empty selector', { ...NONE, selector: {} }, ['shop', 'blog', 'plain'], '3 monitors'],
  [
    'a list and a selector, which overlap',
    {
      ...NONE,
      monitorIds: ['plain', 'shop'],
      selector: { matchExpressions: [{ key: 'app', operator: 'In', values: ['shop'] }] },
    },
    ['shop', 'plain'],
    '2 monitors',
  ],
])('%s', (_name, coverage, ids, text) => {
  test('covers the listed and the matched monitors', () => {
    expect(listCovered(coverage, MONITORS).map(({ id }) => id)).toEqual(ids);
    expect(MONITORS.filter((monitor) => isCovered(coverage, monitor)).map(({ id }) => id)).toEqual(ids);
    expect(describeCoverage(coverage, MONITORS)).toBe(text);
  });
});

test('describeCoverage does not count matches before the monitors have loaded', () => {
  expect(describeCoverage({ ...NONE, monitorIds: ['a', 'b'] }, undefined)).toBe('2 monitors');
  expect(describeCoverage({ ...NONE, selector: {} }, undefined)).toBe('Matching monitors');
});

describe('the values of the form', () => {
  test('become the same coverage', () => {
    const coverage = { monitorIds: ['a'], allMonitors: false, selector: { matchLabels: { app: 'shop' } } };
    const values = toCoverageValues(coverage);
    expect(values).toEqual({ monitorIds: ['a'], allMonitors: false, selector: 'app=shop' });
    expect(toCoverage(values)).toEqual(coverage);
  });

  test('show a selector without conditions as all monitors', () => {
    expect(toCoverageValues({ ...NONE, selector: {} })).toEqual({
      monitorIds: [],
      allMonitors: true,
      selector: '',
    });
  });

  test('have an error for an invalid selector, unless all monitors are chosen', () => {
    const values = { monitorIds: [], allMonitors: false, selector: 'app in (' };
    expect(findSelectorErrors(values)).toEqual([
      { path: 'selector', message: expect.stringMatching(/ends too early/) },
    ]);
    expect(findSelectorErrors({ ...values, allMonitors: true })).toEqual([]);
    expect(findSelectorErrors({ ...values, selector: '' })).toEqual([]);
  });

  test('get the errors of the API at the selector', () => {
    expect(toCoverageField({ path: 'selector.matchLabels.app', message: 'must be a string' })).toEqual({
      path: 'selector',
      message: 'matchLabels.app: must be a string',
    });
    expect(toCoverageField({ path: 'name', message: 'is required' })).toEqual({
      path: 'name',
      message: 'is required',
    });
  });
});
