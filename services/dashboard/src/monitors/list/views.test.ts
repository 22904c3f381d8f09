import { expect, test } from '@jest/globals';
import { monitorsSearchSchema } from '../monitors-search.ts';
import { BUILT_IN_VIEWS, findView, isSameSearch, parseViews, viewNameProblem, withView } from './views.ts';

const TEAM = { name: 'Team A', search: { group: 'team', status: 'DOWN' } } as const;

test('built-in views have valid searches and different names', () => {
  for (const { search } of BUILT_IN_VIEWS)
    expect(JSON.parse(JSON.stringify(monitorsSearchSchema.parse(search)))).toEqual(search);
  expect(new Set(BUILT_IN_VIEWS.map(({ name }) => name)).size).toBe(BUILT_IN_VIEWS.length);
});

test.each([undefined, '', 'nonsense', '{}', '[1]', '[{"name":"a"}]', 'null'])(
  'the stored text %j has no views',
  (text) => {
    expect(parseViews(text)).toEqual([]);
  },
);

test('stored views are read back, without what a later version no longer knows', () => {
  expect(parseViews(JSON.stringify([TEAM]))).toMatchObject([TEAM]);
  const [view] = parseViews('[{"name":"Old","search":{"q":"shop","order":"gone"}}]');
  expect(JSON.parse(JSON.stringify(view))).toEqual({ name: 'Old', search: { q: 'shop' } });
});

test('a view with the name of another one replaces it, and views are sorted by name', () => {
  const views = withView(withView([], TEAM), { name: ' Blog ', search: {} });
  expect(views.map(({ name }) => name)).toEqual(['Blog', 'Team A']);
  const replaced = withView(views, { name: 'team a', search: { q: 'x' } });
  expect(replaced).toEqual([
    { name: 'Blog', search: {} },
    { name: 'team a', search: { q: 'x' } },
  ]);
});

test.each([
  ['Team A', TEAM],
  [' team a ', TEAM],
  ['Team', undefined],
  ['', undefined],
])('the name %j replaces %j', (name, view) => {
  expect(findView(name, [TEAM])).toEqual(view);
});

test.each([
  ['Mine', null],
  ['team a', null],
  ['  ', 'Enter a name.'],
  ['x'.repeat(61), 'Use at most 60 characters.'],
  ['slowest', 'This is the name of a built-in view.'],
])('the name %j: %j', (name, problem) => {
  expect(viewNameProblem(name, [TEAM])).toBe(problem);
});

test('the number of views is limited, but each can be replaced', () => {
  const views = Array.from({ length: 100 }, (_, index) => ({ name: `v${index}`, search: {} }));
  expect(viewNameProblem('one more', views)).toMatch(/Delete a view first/);
  expect(viewNameProblem('V7', views)).toBeNull();
});

test.each([
  [{}, {}, true],
  [{ q: undefined }, {}, true],
  [{ q: 'a', status: 'UP' }, { status: 'UP', q: 'a' }, true],
  [{ q: 'a' }, {}, false],
  [{}, { reverse: true }, false],
] as const)('whether %j equals %j: %s', (one, other, isSame) => {
  expect(isSameSearch(one, other)).toBe(isSame);
});
