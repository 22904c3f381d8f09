import { Button, Group, Text } from '@mantine/core';
import type { AvailabilityReport, AvailabilityRow } from '@tocsin/contracts/reports/availability';
import { type ReactNode, useState } from 'react';
import { DataTable } from '../components/data-table.tsx';
import { formatNumber } from '../components/format.ts';
import { Quiet, TextLink } from '../components/text.tsx';
import { withLabel } from '../labels/selector-text.ts';
import {
  columnsOf,
  type Figure,
  formatFigure,
  isAscending,
  nameTitle,
  type SortKey,
} from './report-columns.ts';
import type { FullSearch } from './report-period.ts';
import classes from './reports.module.css';

/** Number of rows shown initially and added by each click. */
const PAGE_SIZE = 500;

interface ReportTableProps {
  readonly report: AvailabilityReport;
  readonly rows: readonly AvailabilityRow[];
  readonly search: FullSearch;
  readonly sort: SortKey;
  readonly isBestFirst: boolean;
  readonly onSort: (key: SortKey) => void;
}

/** Rows and total of a report. */
export function ReportTable(props: ReportTableProps): ReactNode {
  const { report, rows, search, sort, isBestFirst, onSort } = props;
  const [shown, setShown] = useState(PAGE_SIZE);
  const figures = columnsOf(report);
  const name = nameTitle(report);
  const byTitle = <Value,>(valueOf: (column: (typeof figures)[number]) => Value): Record<string, Value> =>
    Object.fromEntries(figures.map((column) => [column.title, valueOf(column)]));
  return (
    <>
      <DataTable
        label="Availability"
        className={classes['table'] ?? ''}
        fz="xs"
        verticalSpacing={6}
        horizontalSpacing="xs"
        rows={rows.slice(0, shown)}
        rowKey={(row) => row.monitorId ?? `label ${row.name ?? ''}`}
        columns={{
          [name]: (row) => <RowName row={row} report={report} search={search} />,
          ...byTitle(({ key }) => (row: AvailabilityRow) => (
            <FigureOf row={row} field={key} monitorId={row.monitorId} />
          )),
        }}
        numbers={figures.map(({ title }) => title)}
        hints={byTitle(({ hint }) => hint)}
        sorting={{
          column: figures.find(({ key }) => key === sort)?.title ?? name,
          isAscending: isAscending(sort, isBestFirst),
          onSort: (column) => onSort(figures.find(({ title }) => title === column)?.key ?? 'name'),
        }}
        total={{
          [name]: 'Total',
          ...byTitle(({ key }) => <FigureOf row={report.total} field={key} monitorId={null} />),
        }}
      />
      {rows.length > shown && (
        <Group mt="sm" gap="sm">
          <Quiet inline>
            {formatNumber(shown)} of {formatNumber(rows.length)} rows. The CSV file has all.
          </Quiet>
          <Button size="xs" variant="default" onClick={() => setShown(shown + PAGE_SIZE)}>
            Show {PAGE_SIZE} more
          </Button>
        </Group>
      )}
    </>
  );
}

interface FigureProps {
  readonly row: Pick<AvailabilityRow, Figure>;
  readonly field: Figure;
  /** Null for several monitors. */
  readonly monitorId: string | null;
}

function FigureOf({ row, field, monitorId }: FigureProps): ReactNode {
  const text = formatFigure(row, field);
  if (field === 'incidents' && monitorId !== null && row.incidents > 0)
    return (
      <TextLink to="/incidents" search={{ monitorId }}>
        {text}
      </TextLink>
    );
  if (field !== 'downtimeSeconds' || row.downtimeSeconds === 0) return text;
  return (
    <Text span inherit c="var(--status-down)">
      {text}
    </Text>
  );
}

type RowNameProps = Pick<ReportTableProps, 'report' | 'search'> & { readonly row: AvailabilityRow };

/** Links to the monitor, or to a report on the monitors with this label value. */
function RowName({ row: { monitorId, name }, report: { groupBy }, search }: RowNameProps): ReactNode {
  if (monitorId !== null)
    return (
      <TextLink to="/monitors/$monitorId" params={{ monitorId }} c="inherit">
        {name}
      </TextLink>
    );
  const { selector = '' } = search;
  const without = selector === '' ? `!${groupBy}` : `${selector},!${groupBy}`;
  const members = {
    ...search,
    groupBy: undefined,
    selector: name === null ? without : withLabel(selector, groupBy, name),
  };
  return (
    <TextLink to="/reports" search={members} c="inherit">
      {name === null ? `Without ${groupBy}` : name === '' ? '(empty)' : name}
    </TextLink>
  );
}
