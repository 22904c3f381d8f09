import type { AvailabilityReport, AvailabilityRow } from '@tocsin/contracts/reports/availability';
import { type CsvCell, toCsv } from '../components/csv.ts';
import { formatNumber, formatSpan } from '../components/format.ts';
import { formatShare } from '../monitors/show/figures.ts';
import type { Days } from './report-period.ts';

export type Figure = Exclude<keyof AvailabilityRow, 'monitorId' | 'name'>;

interface Column {
  readonly title: string;
  readonly hint: string;
  /** Unit in the header of a CSV column. */
  readonly unit?: '%' | 's';
  /** True if low figures are bad. */
  readonly isGoodIfHigh?: boolean;
}

/** Figures in column order. */
const COLUMNS = {
  monitors: { title: 'Monitors', hint: 'Monitors of the group' },
  uptime: {
    title: 'Uptime',
    hint: 'Share of counted time without an open incident. Counted time is measured time, without maintenance unless it is included',
    unit: '%',
    isGoodIfHigh: true,
  },
  downtimeSeconds: { title: 'Downtime', hint: 'How long incidents were open', unit: 's' },
  incidents: { title: 'Incidents', hint: 'Incidents with downtime in the period' },
  longestIncidentSeconds: { title: 'Longest', hint: 'Most downtime of one incident', unit: 's' },
  mttrSeconds: { title: 'MTTR', hint: 'Mean time to recovery: downtime per incident', unit: 's' },
  passRate: { title: 'Checks passed', hint: 'Share of checks that passed', unit: '%', isGoodIfHigh: true },
  checks: { title: 'Checks', hint: 'Checks that ran' },
  failures: { title: 'Failed', hint: 'Checks that failed' },
  gaps: { title: 'Missed checks', hint: 'Scheduled checks that did not run' },
  maintenanceSeconds: { title: 'Maintenance', hint: 'Time in maintenance', unit: 's' },
  measured: {
    title: 'Measured',
    hint: 'Share of the period in which the monitor existed and had results',
    unit: '%',
    isGoodIfHigh: true,
  },
} as const satisfies Record<Figure, Column>;

export type SortKey = 'name' | Figure;

/** Columns after the name. */
export function columnsOf({
  groupBy,
}: Pick<AvailabilityReport, 'groupBy'>): (Column & { readonly key: Figure })[] {
  return (Object.entries(COLUMNS) as [Figure, Column][])
    .filter(([key]) => key !== 'monitors' || groupBy !== 'monitor')
    .map(([key, column]) => Object.assign({ key }, column));
}

/** Parses the sort key of the address. Defaults to uptime. */
export function sortKeyOf(text: string | undefined): SortKey {
  return ['name', ...Object.keys(COLUMNS)].includes(text ?? '') ? (text as SortKey) : 'uptime';
}

/** Formats a figure for the table. */
export function formatFigure(row: Pick<AvailabilityRow, Figure>, key: Figure): string {
  const value = row[key];
  if (value === null) return '–';
  const { unit }: Column = COLUMNS[key];
  if (unit === '%') return formatShare(value);
  return unit === 's' ? formatSpan(value) : formatNumber(value);
}

const NAMES = new Intl.Collator(undefined, { numeric: true, sensitivity: 'base' });

/** True if ascending order puts the worst rows first, or the best. Names start with A. */
export function isAscending(key: SortKey, isBestFirst: boolean): boolean {
  if (key === 'name') return !isBestFirst;
  const { isGoodIfHigh = false }: Column = COLUMNS[key];
  return isGoodIfHigh !== isBestFirst;
}

function compareNames(one: AvailabilityRow, other: AvailabilityRow): number {
  return NAMES.compare(one.name ?? '', other.name ?? '');
}

/** Rows without the figure come last. */
export function sortRows(
  rows: readonly AvailabilityRow[],
  key: SortKey,
  isBestFirst: boolean,
): readonly AvailabilityRow[] {
  const sign = isAscending(key, isBestFirst) ? 1 : -1;
  if (key === 'name') return rows.toSorted((one, other) => sign * compareNames(one, other));
  return rows.toSorted((one, other) => {
    const [a, b] = [one[key], other[key]];
    if (a === null || b === null) return Number(a === null) - Number(b === null) || compareNames(one, other);
    return sign * (a - b) || compareNames(one, other);
  });
}

/** Rows and total of a report as CSV. Percentages have four decimals, durations are in whole seconds. */
export function reportCsv(report: AvailabilityReport, rows: readonly AvailabilityRow[]): string {
  const columns = columnsOf(report);
  const isOfMonitors = report.groupBy === 'monitor';
  const figures = (row: Pick<AvailabilityRow, Figure>): CsvCell[] =>
    columns.map(({ key, unit }) => {
      const value = row[key];
      if (value === null) return null;
      return unit === '%' ? Math.floor(value * 1e6) / 1e4 : unit === 's' ? Math.round(value) : value;
    });
  const header = columns.map(({ title, unit }) => (unit === undefined ? title : `${title} (${unit})`));
  return toCsv(
    [nameTitle(report), ...header, ...(isOfMonitors ? ['Monitor ID'] : [])],
    [
      ...rows.map((row) => [row.name, ...figures(row), ...(isOfMonitors ? [row.monitorId] : [])]),
      ['Total', ...figures(report.total), ...(isOfMonitors ? [null] : [])],
    ],
  );
}

/** Title of the first column: the label key, or `Monitor`. */
export function nameTitle({ groupBy }: Pick<AvailabilityReport, 'groupBy'>): string {
  return groupBy === 'monitor' ? 'Monitor' : groupBy;
}

export function reportFileName({ from, to }: Days): string {
  return `tocsin-availability-${from}-to-${to}.csv`;
}
