import { Table, type TableProps, UnstyledButton } from '@mantine/core';
import { IconArrowDown, IconArrowUp } from '@tabler/icons-react';
import type { ReactNode } from 'react';
import classes from './data-table.module.css';

interface Sorting {
  /** Title of a column. */
  readonly column: string;
  readonly isAscending: boolean;
  readonly onSort: (column: string) => void;
}

interface DataTableProps<Row> extends TableProps {
  /** The accessible name. */
  readonly label: string;
  readonly rows: readonly Row[];
  readonly rowKey: (row: Row) => string;
  /** Renders cells by column title. The first column contains the row headings. */
  readonly columns: Readonly<Record<string, (row: Row) => ReactNode>>;
  /** Titles of columns that are aligned to the right. */
  readonly numbers?: readonly string[];
  /** Explanations of columns, by title. */
  readonly hints?: Readonly<Record<string, string>>;
  readonly sorting?: Sorting;
  /** Cells of the last row, by column title. */
  readonly total?: Readonly<Record<string, ReactNode>>;
}

/** A table whose rows become cards on a phone, where each cell shows its column title. */
export function DataTable<Row>(props: DataTableProps<Row>): ReactNode {
  const { label, rows, rowKey, columns, numbers = [], hints, sorting, total, className, ...table } = props;
  const titles = Object.keys(columns);
  const cells = (cellOf: (title: string) => ReactNode): ReactNode =>
    titles.map((title, index) => {
      const cell = { 'data-column': title, 'data-number': numbers.includes(title), children: cellOf(title) };
      return index === 0 ? (
        <Table.Th key={title} scope="row" {...cell} />
      ) : (
        <Table.Td key={title} {...cell} />
      );
    });
  return (
    <Table
      {...tableLook}
      {...table}
      aria-label={label}
      className={`${tableLook.className} ${classes['cards'] ?? ''} ${className ?? ''}`}
    >
      <Table.Thead>
        <Table.Tr>
          {titles.map((title) => (
            <Table.Th
              key={title}
              scope="col"
              data-column={title}
              data-number={numbers.includes(title)}
              title={hints?.[title]}
              {...(title === sorting?.column && {
                'aria-sort': sorting.isAscending ? 'ascending' : 'descending',
              })}
            >
              {sorting === undefined ? (
                title
              ) : (
                <SortButton
                  title={title}
                  isAscending={title === sorting.column ? sorting.isAscending : null}
                  onClick={() => sorting.onSort(title)}
                />
              )}
            </Table.Th>
          ))}
        </Table.Tr>
      </Table.Thead>
      <Table.Tbody>
        {rows.map((row) => (
          <Table.Tr key={rowKey(row)}>{cells((title) => columns[title]?.(row))}</Table.Tr>
        ))}
      </Table.Tbody>
      {total && (
        <Table.Tfoot>
          <Table.Tr>{cells((title) => total[title])}</Table.Tr>
        </Table.Tfoot>
      )}
    </Table>
  );
}

/** Tables with another layout on a phone use these properties. */
export const tableLook = {
  className: classes['table'] ?? '',
  borderColor: 'var(--line)',
  verticalSpacing: 'xs',
  tabularNums: true,
} as const;

interface SortButtonProps {
  readonly title: string;
  /** Null if the table is sorted by another column. */
  readonly isAscending: boolean | null;
  readonly onClick: () => void;
}

/** Shows the title of a column, and sorts the table by it. */
export function SortButton({ title, isAscending, onClick }: SortButtonProps): ReactNode {
  const Icon = isAscending === true ? IconArrowUp : IconArrowDown;
  return (
    <UnstyledButton className={classes['sort'] ?? ''} onClick={onClick}>
      {title}
      {isAscending !== null && <Icon size={13} aria-hidden />}
    </UnstyledButton>
  );
}
