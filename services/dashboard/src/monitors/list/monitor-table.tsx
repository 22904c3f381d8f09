import { Group, Text, UnstyledButton, VisuallyHidden } from '@mantine/core';
import { IconChevronDown, IconChevronRight } from '@tabler/icons-react';
import { type ReactNode, useCallback } from 'react';
import { SortButton } from '../../components/data-table.tsx';
import { formatNumber } from '../../components/format.ts';
import { Quiet, StatusBadge } from '../../components/text.tsx';
import { useSilentRegions, useUnservedRegions } from '../../regions/regions.ts';
import { useDefaultRegion } from '../../session/session.ts';
import type { MonitorsSearch } from '../monitors-search.ts';
import type { ListRow, MonitorGroup } from './arrange-monitors.ts';
import { type Column, type ColumnLook, COLUMNS, columnWidth, type FittingColumns } from './columns.ts';
import { useVirtualRows } from './list-hooks.ts';
import { MonitorRow, type MonitorRowProps } from './monitor-row.tsx';
import classes from './monitor-table.module.css';
import { type Latencies, STATUS_ORDER } from './sort-monitors.ts';

/** In pixels, without and with labels. Must match monitor-table.module.css. */
export const ROW_HEIGHTS = { desktop: [60, 80], dense: [40, 40], phone: [72, 102] } as const;
const GROUP_HEIGHT = 44;

interface MonitorTableProps extends FittingColumns {
  readonly rows: readonly ListRow[];
  readonly rowHeight: number;
  readonly density: keyof typeof ROW_HEIGHTS;
  /** True if rows have a line for labels. */
  readonly hasLabels: boolean;
  readonly latencies: Latencies;
  readonly search: MonitorsSearch;
  readonly onOrder: (order: Pick<MonitorsSearch, 'order' | 'reverse'>) => void;
  /** Values of the groups whose monitors are hidden. */
  readonly collapsed: ReadonlySet<string | null>;
  readonly onCollapse: (value: string | null) => void;
  /** Null hides the checkboxes. */
  readonly selected: ReadonlySet<string> | null;
  readonly onSelect: MonitorRowProps['onSelect'];
}

/** The list of monitors, with two lines per row on a phone. Only visible rows are in the document. */
export function MonitorTable(props: MonitorTableProps): ReactNode {
  const { rows, rowHeight, density, hasLabels, columns, isCompact, latencies, search, onOrder } = props;
  const { collapsed, onCollapse, selected, onSelect } = props;
  const defaultRegion = useDefaultRegion();
  const unserved = useUnservedRegions();
  const silent = useSilentRegions();
  const groupedRows = search.group === undefined ? null : rows;
  const heightOf = useCallback(
    (index: number) => (typeof groupedRows?.[index] === 'object' ? GROUP_HEIGHT : rowHeight),
    [groupedRows, rowHeight],
  );
  const { containerRef, indexes, before, after } = useVirtualRows(rows.length, heightOf);
  const span = columns.length + (selected === null ? 0 : 1);
  return (
    <table
      ref={containerRef}
      className={classes['table']}
      aria-label="Monitors"
      aria-rowcount={rows.length + 1}
      data-labels={hasLabels}
      data-compact={isCompact}
      data-density={density}
      data-selecting={selected !== null}
    >
      <thead>
        <tr aria-rowindex={1}>
          {selected !== null && (
            <th scope="col" className={classes['select']}>
              <VisuallyHidden>Selected</VisuallyHidden>
            </th>
          )}
          {columns.map((column) => (
            <Header key={column} column={column} isCompact={isCompact} search={search} onOrder={onOrder} />
          ))}
        </tr>
      </thead>
      <tbody>
        <Gap height={before} span={span} />
        {indexes.map((index) => {
          const row = rows[index];
          if (row === undefined) return null;
          if (typeof row === 'object')
            return (
              <GroupRow
                key={`group ${row.value}`}
                group={row}
                label={search.group ?? ''}
                index={index}
                span={span}
                isCollapsed={collapsed.has(row.value)}
                onCollapse={onCollapse}
              />
            );
          return (
            <MonitorRow
              key={row}
              id={row}
              index={index}
              columns={columns}
              p95={latencies.get(row)?.p95 ?? null}
              p99={latencies.get(row)?.p99 ?? null}
              showsLabels={hasLabels}
              defaultRegion={defaultRegion}
              unserved={unserved}
              silent={silent}
              search={search}
              isSelected={selected && selected.has(row)}
              onSelect={onSelect}
            />
          );
        })}
        <Gap height={after} span={span} />
      </tbody>
    </table>
  );
}

function Gap({ height, span }: { readonly height: number; readonly span: number }): ReactNode {
  if (height === 0) return null;
  return (
    <tr aria-hidden className={classes['gap']}>
      {/* oxlint-disable-next-line jsx-a11y/control-has-associated-label -- it is empty and hidden */}
      <td colSpan={span} style={{ height }} />
    </tr>
  );
}

/** Columns sorted in descending order by default. */
const LARGEST_FIRST: ReadonlySet<Column> = new Set(['p95', 'p99']);

interface HeaderProps extends Pick<MonitorTableProps, 'search' | 'onOrder' | 'isCompact'> {
  readonly column: Column;
}

/** A column title. A click sorts by the column, and another click reverses the order. */
function Header({ column, isCompact, search, onOrder }: HeaderProps): ReactNode {
  const { label, hint, order }: ColumnLook = COLUMNS[column];
  const isSorted = order !== undefined && order === (search.order ?? 'status');
  const reverse = search.reverse === true;
  const isDescending = LARGEST_FIRST.has(column) !== reverse;
  return (
    <th
      scope="col"
      style={{ width: column === 'name' ? undefined : columnWidth(column, isCompact) }}
      title={hint}
      aria-sort={isSorted ? (isDescending ? 'descending' : 'ascending') : undefined}
    >
      {order === undefined ? (
        label
      ) : (
        <SortButton
          title={label}
          isAscending={isSorted ? !isDescending : null}
          onClick={() =>
            onOrder({
              order: order === 'status' ? undefined : order,
              reverse: isSorted && !reverse ? true : undefined,
            })
          }
        />
      )}
    </th>
  );
}

interface GroupRowProps extends Pick<MonitorTableProps, 'onCollapse'> {
  readonly group: MonitorGroup;
  readonly label: string;
  readonly index: number;
  readonly span: number;
  readonly isCollapsed: boolean;
}

function GroupRow({ group, label, index, span, isCollapsed, onCollapse }: GroupRowProps): ReactNode {
  const { value, ids, counts } = group;
  const Icon = isCollapsed ? IconChevronRight : IconChevronDown;
  return (
    <tr aria-rowindex={index + 2} className={classes['group']}>
      <th scope="rowgroup" colSpan={span}>
        <UnstyledButton
          className={classes['toggle'] ?? ''}
          aria-expanded={!isCollapsed}
          onClick={() => onCollapse(value)}
        >
          <Icon size={16} aria-hidden />
          <Text span inherit fw={500} truncate>
            {describeGroup(label, value)}
          </Text>
          <Quiet inline>{formatNumber(ids.length)}</Quiet>
          <Group component="span" gap="md" wrap="nowrap" flex="none" ml="auto" className="tabular">
            {STATUS_ORDER.filter((status) => counts[status] > 0).map((status, index) => (
              // A phone has room for the most urgent status.
              <Group key={status} component="span" gap={6} {...(index > 0 && { visibleFrom: 'sm' })}>
                <StatusBadge status={status} /> {formatNumber(counts[status])}
              </Group>
            ))}
          </Group>
        </UnstyledButton>
      </th>
    </tr>
  );
}

/** Formats as `team=checkout`. */
function describeGroup(label: string, value: string | null): string {
  if (value === null) return `No ${label} label`;
  return value === '' ? label : `${label}=${value}`;
}
