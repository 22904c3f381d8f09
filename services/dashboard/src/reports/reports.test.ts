import { expect, test } from '@jest/globals';
import type { AvailabilityReport, AvailabilityRow } from '@tocsin/contracts/reports/availability';
import { columnsOf, reportCsv, sortKeyOf, sortRows } from './report-columns.ts';
import {
  findSearchErrors,
  isWholeDay,
  presetDays,
  presetOf,
  reportSearchSchema,
  toInstants,
  withPeriod,
} from './report-period.ts';

const MONITOR = '019a9f0e-5d2e-7c11-8f5a-1c1f4d1b2a3c';
const NOW = Date.parse('2026-02-28T23:30:00Z');

test.each([
  ['this-month', 'UTC', '2026-02-01', '2026-02-28'],
  ['last-month', 'UTC', '2026-01-01', '2026-01-31'],
  ['this-quarter', 'UTC', '2026-01-01', '2026-03-31'],
  ['this-month', 'Europe/Berlin', '2026-03-01', '2026-03-31'],
] as const)('%s in %s is %s to %s', (preset, zone, from, to) => {
  expect(presetDays(preset, NOW, zone)).toEqual({ from, to });
  expect(presetOf({ from, to }, NOW, zone)).toBe(preset);
  expect(presetOf({ from, to: '2026-02-27' }, NOW, zone)).toBeNull();
});

test.each([
  // The clocks change within the month.
  ['Europe/Berlin', '2026-03-01', '2026-03-31', '2026-02-28T23:00:00.000Z', '2026-03-31T22:00:00.000Z'],
  ['Asia/Kolkata', '2026-03-01', '2026-03-31', '2026-02-28T18:30:00.000Z', '2026-03-31T18:30:00.000Z'],
  // A day whose midnight is skipped begins after it.
  ['Asia/Beirut', '2026-03-29', '2026-03-29', '2026-03-28T22:00:00.000Z', '2026-03-29T21:00:00.000Z'],
])('in %s, %s to %s is %s to %s', (zone, from, to, start, end) => {
  expect(toInstants({ from, to }, zone)).toEqual({ from: start, to: end });
});

test.each([
  ['an old monitor', '2026-01-15T00:00:00Z', 'last-month'],
  ['monitors of this month', '2026-02-28T23:29:00Z', 'this-month'],
  ['no monitors', null, 'this-month'],
] as const)(
  'with %s, a report covers a month in the user’s time zone that has data',
  (_, created, preset) => {
    const zone = new Intl.DateTimeFormat().resolvedOptions().timeZone;
    const time = created === null ? null : Date.parse(created).toString(16).padStart(12, '0');
    const oldest = time === null ? undefined : `${time.slice(0, 8)}-${time.slice(8)}-7000-8000-000000000000`;
    const filled = withPeriod({ groupBy: 'app' }, NOW, oldest);
    expect(filled).toEqual({ groupBy: 'app', ...presetDays(preset, NOW, zone), zone });
    expect(filled && withPeriod(filled, NOW, oldest)).toBeNull();
  },
);

test('a report uses the days and the zone in its link, and ignores invalid values', () => {
  const days = { from: '2026-01-01', to: '2026-01-02' };
  expect(withPeriod(days, NOW, undefined)).toMatchObject(days);
  const zone = 'Asia/Kolkata';
  expect(withPeriod({ zone }, NOW, undefined)).toMatchObject({ zone, to: '2026-03-31' });
  const invalid = { from: '2026-02-30', to: 'x', zone: 'Moon/Crater', maintenance: 'maybe', order: 1 };
  expect(reportSearchSchema.parse({ ...invalid, groupBy: 7 })).toEqual({ groupBy: '7' });
});

test('a day is applied when it is complete, and not while its year is typed', () => {
  const typed = ['', '0002-03-01', '0020-03-01', '0202-03-01', '2026-03-01', '2026-02-30'];
  expect(typed.filter(isWholeDay)).toEqual(['2026-03-01']);
});

test.each([
  ['UTC', '2026-03-01', '2026-02-01', '', { from: 'Choose a day in the past.' }],
  // There, the next day has begun.
  ['Europe/Berlin', '2026-03-01', '2026-03-01', '', {}],
  ['UTC', '2026-02-02', '2026-02-01', '', { to: 'Choose the first day or a later one.' }],
  ['UTC', '2026-02-01', '2026-02-28', 'team in (shop', { selector: expect.stringMatching(/ends too early/) }],
])('in %s, the errors of %s to %s with the labels "%s" are %j', (zone, from, to, selector, errors) => {
  expect(findSearchErrors({ zone, from, to, selector }, NOW)).toEqual(errors);
});

function row(name: string | null, fields: Partial<AvailabilityRow> = {}): AvailabilityRow {
  const shares = { uptime: 1, passRate: 1, measured: 1 };
  const seconds = { downtimeSeconds: 0, maintenanceSeconds: 0, longestIncidentSeconds: 0, mttrSeconds: null };
  const counts = { monitors: 1, incidents: 0, checks: 10, failures: 0, gaps: 0 };
  return { monitorId: MONITOR, name, ...shares, ...seconds, ...counts, ...fields };
}

const ROWS = [
  row('Unknown', { uptime: null }),
  row('Shop 10', { incidents: 3 }),
  row('Shop 9'),
  row('Bad', { uptime: 0.5, mttrSeconds: 60, incidents: 1 }),
  row('Worse', { uptime: 0.2, mttrSeconds: 10, incidents: 2 }),
];

// Rows without the figure come last.
test.each([
  ['uptime', false, 'Worse, Bad, Shop 9, Shop 10, Unknown'],
  ['uptime', true, 'Shop 9, Shop 10, Bad, Worse, Unknown'],
  ['mttrSeconds', false, 'Bad, Worse, Shop 9, Shop 10, Unknown'],
  ['incidents', true, 'Shop 9, Unknown, Bad, Worse, Shop 10'],
  ['name', false, 'Bad, Shop 9, Shop 10, Unknown, Worse'],
] as const)('sorts by %s, reversed: %s', (key, reverse, names) => {
  const sorted = sortRows(ROWS, key, reverse);
  expect(sorted.map(({ name }) => name).join(', ')).toBe(names);
});

test.each([
  [undefined, 'uptime'],
  ['constructor', 'uptime'],
  ['gaps', 'gaps'],
])('the sort parameter %s means %s', (text, key) => {
  expect(sortKeyOf(text)).toBe(key);
});

const report: AvailabilityReport = {
  from: '2026-10-01T00:00:00.000Z',
  to: '2026-11-01T00:00:00.000Z',
  groupBy: 'monitor',
  maintenance: 'excluded',
  rows: [],
  total: row(null, { uptime: 0.99999999, checks: 20 }),
};

test('a file has the figures of the table with their units in the header, and no formula', () => {
  const rows = [row('=cmd()', { uptime: 0.5, downtimeSeconds: 1.5, mttrSeconds: 90 })];
  expect(reportCsv(report, rows).split('\r\n')).toEqual([
    'Monitor,Uptime (%),Downtime (s),Incidents,Longest (s),MTTR (s),Checks passed (%),Checks,Failed,Missed checks,Maintenance (s),Measured (%),Monitor ID',
    `'=cmd(),50,2,0,0,90,100,10,0,0,0,100,${MONITOR}`,
    'Total,99.9999,0,0,0,,100,20,0,0,0,100,',
    '',
  ]);
});

test('a file of groups has the label as its first column', () => {
  const lines = reportCsv({ ...report, groupBy: 'app' }, [row('shop'), row(null)]).split('\r\n');
  expect(lines.map((line) => line.split(',').slice(0, 2).join())).toEqual([
    'app,Monitors',
    'shop,1',
    ',1',
    'Total,1',
    '',
  ]);
  expect(columnsOf(report).map(({ key }) => key)).not.toContain('monitors');
});
