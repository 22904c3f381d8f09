import { Table } from '@mantine/core';
import type { ReactNode } from 'react';
import classes from './data-table.module.css';

interface DataTableProps<Row> {
  /** The accessible name. */
  readonly label: string;
  readonly rows: readonly Row[];
  readonly rowKey: (row: Row) => string;
  /** Renders cells by column title. The first column contains the row headings. */
  readonly columns: Readonly<Record<string, (row: Row) => ReactNode>>;
}

/** A table whose rows become cards on a phone, where each cell shows its column title. */
export function DataTable<Row>({ label, rows, rowKey, columns }: DataTableProps<Row>): ReactNode {
  const cells = Object.entries(columns);
  return (
    <Table
      aria-label={label}
      verticalSpacing="xs"
      className={classes['table'] ?? ''}
      borderColor="var(--line)"
    >
      <Table.Thead>
        <Table.Tr>
          {cells.map(([title]) => (
            <Table.Th key={title} scope="col" data-column={title}>
              {title}
            </Table.Th>
          ))}
        </Table.Tr>
      </Table.Thead>
      <Table.Tbody>
        {rows.map((row) => (
          <Table.Tr key={rowKey(row)}>
            {cells.map(([title, render], index) =>
              index === 0 ? (
                <Table.Th key={title} scope="row" data-column={title}>
                  {render(row)}
                </Table.Th>
              ) : (
                <Table.Td key={title} data-column={title}>
                  {render(row)}
                </Table.Td>
              ),
            )}
          </Table.Tr>
        ))}
      </Table.Tbody>
    </Table>
  );
}
