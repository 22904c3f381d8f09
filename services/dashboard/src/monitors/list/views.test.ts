import { expect, test } from '@jest/globals';
import { MONITOR_ORDERS, monitorsSearchSchema } from '../monitors-search.ts';
import { overviewWith } from '../testing/records.ts';
import { CHOICES, type ColumnChoice, fitColumns, readColumns, writeColumns } from './columns.ts';
import { monitorsToCsv } from './monitors-csv.ts';
import { BUILT_IN_VIEWS, findView, isSameSearch, parseViews, viewNameProblem, withView } from './views.ts';

test.each([
  [{ q: 'shop', status: 'DOWN', region: 'eu', order: 'name', selector: 'app in (shop,blog),!old' }],
  [{ show: 'expiring', order: 'certificate', reverse: true, group: 'team', columns: 'checks,p95' }],
  [
    { q: 404, group: 5 },
    { q: '404', group: '5' },
  ],
  [{ q: ['a'], status: 'BROKEN', region: null, order: '', show: 'x', reverse: 'yes', other: 1 }, {}],
])('the address %j is parsed', (address: object, search = address) => {
  expect(JSON.parse(JSON.stringify(monitorsSearchSchema.parse(address)))).toEqual(search);
});

const TEAM = { name: 'Team A', search: { group: 'team', status: 'DOWN' } } as const;

test('built-in views have valid searches and different names', () => {
  for (const { search } of BUILT_IN_VIEWS)
    expect(JSON.parse(JSON.stringify(monitorsSearchSchema.parse(search)))).toEqual(search);
  expect(new Set(BUILT_IN_VIEWS.map(({ name }) => name)).size).toBe(BUILT_IN_VIEWS.length);
});

test.each([undefined, 'nonsense', '{}', '[{"name":"a"}]'])('the stored text %j has no views', (text) => {
  expect(parseViews(text)).toEqual([]);
});

test('stored views are parsed without unknown fields and values', () => {
  expect(parseViews(JSON.stringify([TEAM]))).toMatchObject([TEAM]);
  const [view] = parseViews('[{"name":"Old","search":{"q":"shop","order":"gone"}}]');
  expect(JSON.parse(JSON.stringify(view))).toEqual({ name: 'Old', search: { q: 'shop' } });
});

test('a view replaces another view with the same name, and views are sorted by name', () => {
  const views = withView(withView([], TEAM), { name: ' Blog ', search: {} });
  expect(views.map(({ name }) => name)).toEqual(['Blog', 'Team A']);
  const replacing = { name: 'team a', search: { q: 'x' } };
  expect([findView(' team a ', views), findView('Team', views)]).toEqual([TEAM, undefined]);
  expect(withView(views, replacing)).toEqual([{ name: 'Blog', search: {} }, replacing]);
});

test.each([
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

test('searches with the same filters are the same, in any order', () => {
  expect(isSameSearch({ q: 'a', status: 'UP', order: undefined }, { status: 'UP', q: 'a' })).toBe(true);
  expect(isSameSearch({ q: 'a' }, {})).toBe(false);
  expect(isSameSearch({}, { reverse: true })).toBe(false);
});

const ALL = Object.keys(CHOICES) as ColumnChoice[];
const DEFAULT: ColumnChoice[] = ['labels', 'checks', 'latency', 'regions', 'checked'];

test.each([
  [{}, DEFAULT],
  [{ columns: '' }, []],
  [{ columns: 'p95,unknown,checks' }, ['checks', 'p95']],
  [{ order: 'latency' }, ['labels', 'checks', 'latency', 'p95', 'regions', 'checked']],
  [{ columns: 'checks', order: 'certificate' }, ['checks', 'certificate']],
] as const)('the columns of %j are %j', (search, columns) => {
  expect(readColumns(search)).toEqual(columns);
});

test('columns in an address are read as they were written', () => {
  for (const columns of [DEFAULT, [], ALL]) {
    const text = writeColumns(columns);
    expect(new Set(readColumns({ columns: text }))).toEqual(new Set(columns));
    expect(text === undefined).toBe(columns === DEFAULT);
  }
});

test.each([
  [964, ['checks', 'latency', 'regions', 'checked'], false],
  [963, ['checks', 'latency', 'regions', 'checked'], true],
  [883, ['checks', 'latency', 'checked'], true],
  [300, [], true],
])('fitColumns in %i px', (width, columns, isCompact) => {
  const fitting = fitColumns(DEFAULT, 'status', width);
  expect(fitting).toMatchObject({ columns: ['status', 'name', ...columns], isCompact });
});

test.each(MONITOR_ORDERS)('fitColumns with the order %s always has the column of the order', (order) => {
  const all = readColumns({ columns: ALL.join(','), order });
  const own = readColumns({ columns: '', order });
  for (let width = 2_000; width > 0; width -= 50)
    expect(fitColumns(all, order, width).columns).toEqual(expect.arrayContaining([...own]));
  expect(fitColumns(all, order, 383).columns).toEqual(['status', 'name', ...own]);
});

test('the file has the monitors in the order of the list, and no formulas', () => {
  const shop = overviewWith({
    id: 'shop',
    name: '=HYPERLINK("https://evil.example")',
    labels: { team: 'a', app: 'shop' },
    status: 'DOWN',
    errorDetail: 'expected status 200, got 503',
    regions: ['eu', 'us'],
  });
  const blog = overviewWith({ id: 'blog', name: 'Blog', externalId: 'blog' });
  const latencies = [{ monitorId: 'shop', p95: 120, p99: 340 }];
  const csv = monitorsToCsv(['shop', 'gone', 'blog'], [blog, shop], latencies, 'home');
  const [header, first, second, ...rest] = csv.split('\r\n');
  expect(header).toMatch(/^id,name,url,status,.*,labels,regions,interval,.*,p95,p99,externalId,source$/);
  expect(first).toMatch(/^shop,"'=HYPERLINK\(""https:\/\/evil.example""\)",https/);
  expect(first).toMatch(/,"Expected status 200, got 503",,"app=shop,team=a","eu,us",60,,,120,340,,$/);
  expect(second).toMatch(/^blog,Blog,.*,UP,.*,,,,home,60,,,,,blog,$/);
  expect(rest).toEqual(['']);
});
