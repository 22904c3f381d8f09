import { Button, Group, Table, UnstyledButton } from '@mantine/core';
import { IconArrowDown, IconArrowUp } from '@tabler/icons-react';
import type { AvailabilityReport, AvailabilityRow } from '@tocsin/contracts/reports/availability';
import { type ReactNode, useState } from 'react';
import tableClasses from '../components/data-table.module.css';
import { formatNumber } from '../components/format.ts';
import { Quiet, TextLink } from '../components/text.tsx';
import { withLabel } from '../labels/selector-text.ts';
import { columnsOf, formatFigure, isAscending, nameTitle, type SortKey } from './report-columns.ts';
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

/** Rows and total of a report. On a phone, rows become cards. */
export function ReportTable({
  report,
  rows,
  search,
  sort,
  isBestFirst,
  onSort,
}: ReportTableProps): ReactNode {
  const [shown, setShown] = useState(PAGE_SIZE);
  const columns = columnsOf(report);
  const ascending = isAscending(sort, isBestFirst);
  const heading = (key: SortKey, title: string, hint?: string): ReactNode => (
    <Table.Th
      key={key}
      scope="col"
      title={hint}
      {...(key === sort && { 'aria-sort': ascending ? 'ascending' : 'descending' })}
    >
      <UnstyledButton className={classes['sort'] ?? ''} onClick={() => onSort(key)}>
        {title}
        {key === sort &&
          (ascending ? <IconArrowUp size={14} aria-hidden /> : <IconArrowDown size={14} aria-hidden />)}
      </UnstyledButton>
    </Table.Th>
  );
  const figures = (row: Omit<AvailabilityRow, 'monitorId' | 'name'>, monitorId: string | null): ReactNode =>
    columns.map(({ key, title }) => (
      <Table.Td key={key} data-column={title} data-bad={key === 'downtimeSeconds' && row[key] > 0}>
        {key === 'incidents' && monitorId !== null && row.incidents > 0 ? (
          <TextLink to="/incidents" search={{ monitorId }}>
            {formatFigure(row, key)}
          </TextLink>
        ) : (
          formatFigure(row, key)
        )}
      </Table.Td>
    ));
  return (
    <>
      <Table
        aria-label="Availability"
        className={`${tableClasses['table'] ?? ''} ${classes['table'] ?? ''}`}
        borderColor="var(--line)"
        verticalSpacing={6}
      >
        <Table.Thead>
          <Table.Tr>
            {heading('name', nameTitle(report))}
            {columns.map(({ key, title, hint }) => heading(key, title, hint))}
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {rows.slice(0, shown).map((row) => (
            <Table.Tr key={row.monitorId ?? `label ${row.name ?? ''}`}>
              <Table.Th scope="row">
                <RowName row={row} report={report} search={search} />
              </Table.Th>
              {figures(row, row.monitorId)}
            </Table.Tr>
          ))}
        </Table.Tbody>
        <Table.Tfoot>
          <Table.Tr>
            <Table.Th scope="row">Total</Table.Th>
            {figures(report.total, null)}
          </Table.Tr>
        </Table.Tfoot>
      </Table>
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
