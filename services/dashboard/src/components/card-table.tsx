import { Table } from '@mantine/core';
import type { ReactNode } from 'react';
import classes from './card-table.module.css';

interface CardTableProps {
  /** Said to screen readers of the whole table. */
  readonly label: string;
  readonly columns: readonly string[];
  /** Each a `Table.Tr` of `CardCell`s. */
  readonly children: ReactNode;
}

/** A table whose rows become cards on a phone. */
export function CardTable({ label, columns, children }: CardTableProps): ReactNode {
  return (
    <Table
      aria-label={label}
      verticalSpacing="xs"
      className={classes['table'] ?? ''}
      borderColor="var(--line)"
    >
      <Table.Thead>
        <Table.Tr>
          {columns.map((column) => (
            <Table.Th key={column} scope="col">
              {column}
            </Table.Th>
          ))}
        </Table.Tr>
      </Table.Thead>
      <Table.Tbody>{children}</Table.Tbody>
    </Table>
  );
}

/** A cell that says on a phone of which column it is. The first cell of a row is its heading. */
export function CardCell({
  column,
  heading = false,
  children,
}: {
  readonly column: string;
  readonly heading?: boolean;
  readonly children: ReactNode;
}): ReactNode {
  return heading ? (
    <Table.Th scope="row" className={classes['heading'] ?? ''}>
      {children}
    </Table.Th>
  ) : (
    <Table.Td data-column={column}>{children}</Table.Td>
  );
}
