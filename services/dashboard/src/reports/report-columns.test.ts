import { expect, test } from '@jest/globals';
import type { AvailabilityReport, AvailabilityRow } from '@tocsin/contracts/reports/availability';
import { columnsOf, formatFigure, reportCsv, reportFileName, sortKeyOf, sortRows } from './report-columns.ts';

function row(name: string | null, fields: Partial<AvailabilityRow> = {}): AvailabilityRow {
  return {
    monitorId: '019a9f0e-5d2e-7c11-8f5a-1c1f4d1b2a3c',
    name,
    monitors: 1,
    availability: 1,
    uptime: 1,
    coverage: 1,
    downtimeSeconds: 0,
    maintenanceSeconds: 0,
    incidents: 0,
    longestIncidentSeconds: 0,
    mttrSeconds: null,
    checks: 10,
    failures: 0,
    gaps: 0,
    ...fields,
  };
}

const names = (rows: readonly AvailabilityRow[]): (string | null)[] => rows.map(({ name }) => name);

test('sorts the worst or the best first, rows without the figure last', () => {
  const rows = [
    row('Unknown', { availability: null }),
    row('Shop 10', { incidents: 3 }),
    row('Shop 9'),
    row('Bad', { availability: 0.5, mttrSeconds: 60, incidents: 1 }),
    row('Worse', { availability: 0.2, mttrSeconds: 10, incidents: 2 }),
  ];
  expect(names(sortRows(rows, 'availability', false))).toEqual([
    'Worse',
    'Bad',
    'Shop 9',
    'Shop 10',
    'Unknown',
  ]);
  expect(names(sortRows(rows, 'availability', true))).toEqual([
    'Shop 9',
    'Shop 10',
    'Bad',
    'Worse',
    'Unknown',
  ]);
  expect(names(sortRows(rows, 'mttrSeconds', false)).slice(0, 2)).toEqual(['Bad', 'Worse']);
  expect(names(sortRows(rows, 'incidents', false)).slice(0, 2)).toEqual(['Shop 10', 'Worse']);
  expect(names(sortRows(rows, 'incidents', true)).slice(0, 2)).toEqual(['Shop 9', 'Unknown']);
  expect(names(sortRows(rows, 'name', false))).toEqual(['Bad', 'Shop 9', 'Shop 10', 'Unknown', 'Worse']);
});

test.each([
  [undefined, 'availability'],
  ['nonsense', 'availability'],
  ['constructor', 'availability'],
  ['name', 'name'],
  ['gaps', 'gaps'],
])('the sort parameter %s means %s', (text, key) => {
  expect(sortKeyOf(text)).toBe(key);
});

test('figures have their units', () => {
  const figures = row('Shop', { availability: 0.999996, downtimeSeconds: 3_725.4, checks: 1_440 });
  expect(formatFigure(figures, 'availability')).toBe('99.999%');
  expect(formatFigure(figures, 'downtimeSeconds')).toBe('1 h 2 min');
  expect(formatFigure(figures, 'mttrSeconds')).toBe('–');
  expect(formatFigure(figures, 'checks')).toBe('1,440');
});

const report: AvailabilityReport = {
  from: '2026-10-01T00:00:00.000Z',
  to: '2026-11-01T00:00:00.000Z',
  groupBy: 'monitor',
  maintenance: 'excluded',
  rows: [],
  total: row(null, { availability: 0.99999999, checks: 20 }),
};

test('a file has the figures of the table with their units in the header, and no formula', () => {
  const rows = [row('=cmd()', { availability: 0.5, downtimeSeconds: 1.5, mttrSeconds: 90 })];
  const id = rows[0]?.monitorId;
  expect(reportCsv(report, rows).split('\r\n')).toEqual([
    'Monitor,Availability (%),Downtime (s),Incidents,Longest (s),MTTR (s),Checks passed (%),Checks,Failed,Missed checks,Maintenance (s),Coverage (%),Monitor ID',
    `'=cmd(),50,2,0,0,90,100,10,0,0,0,100,${id}`,
    'Total,99.9999,0,0,0,,100,20,0,0,0,100,',
    '',
  ]);
});

test('a file of groups has the label as its first column', () => {
  const lines = reportCsv({ ...report, groupBy: 'app' }, [row('shop'), row(null)]).split('\r\n');
  expect(lines.map((line) => line.split(',').slice(0, 3))).toEqual([
    ['app', 'Monitors', 'Availability (%)'],
    ['shop', '1', '100'],
    ['', '1', '100'],
    ['Total', '1', '99.9999'],
    [''],
  ]);
  expect(columnsOf(report).map(({ key }) => key)).not.toContain('monitors');
});

test('the name of a file says its period', () => {
  expect(reportFileName({ from: '2026-10-01', to: '2026-10-31' })).toBe(
    'tocsin-availability-2026-10-01-to-2026-10-31.csv',
  );
});
