import { Skeleton, Table } from '@mantine/core';
import type { ReactNode } from 'react';
import classes from './data-table.module.css';

const PLACEHOLDER_ROWS = [0, 1, 2, 3];

interface Column<Row> {
  readonly title: string;
  readonly render: (row: Row) => ReactNode;
}

interface DataTableProps<Row> {
  /** The accessible name. */
  readonly label: string;
  /** The first column is the heading of each row. */
  readonly columns: readonly Column<Row>[];
  /** Undefined while they load. */
  readonly rows: readonly Row[] | undefined;
  readonly rowKey: (row: Row) => string;
}

/** A table whose rows become cards on a phone; there each cell shows the title of its column. */
export function DataTable<Row>({ label, columns, rows, rowKey }: DataTableProps<Row>): ReactNode {
  return (
    <Table
      aria-label={label}
      verticalSpacing="xs"
      className={classes['table'] ?? ''}
      borderColor="var(--line)"
    >
      <Table.Thead>
        <Table.Tr>
          {columns.map(({ title }) => (
            <Table.Th key={title} scope="col">
              {title}
            </Table.Th>
          ))}
        </Table.Tr>
      </Table.Thead>
      <Table.Tbody>
        {rows === undefined
          ? PLACEHOLDER_ROWS.map((row) => (
              <Table.Tr key={row}>
                {cells(columns, () => (
                  <Skeleton height={20} width="80%" />
                ))}
              </Table.Tr>
            ))
          : rows.map((row) => (
              <Table.Tr key={rowKey(row)}>{cells(columns, ({ render }) => render(row))}</Table.Tr>
            ))}
      </Table.Tbody>
    </Table>
  );
}

function cells<Row>(
  columns: readonly Column<Row>[],
  contentOf: (column: Column<Row>) => ReactNode,
): ReactNode {
  return columns.map((column, index) =>
    index === 0 ? (
      <Table.Th key={column.title} scope="row" className={classes['heading'] ?? ''}>
        {contentOf(column)}
      </Table.Th>
    ) : (
      <Table.Td key={column.title} data-column={column.title}>
        {contentOf(column)}
      </Table.Td>
    ),
  );
}
