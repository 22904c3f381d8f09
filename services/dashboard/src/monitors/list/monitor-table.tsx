import { VisuallyHidden } from '@mantine/core';
import { Link } from '@tanstack/react-router';
import { memo, type ReactNode } from 'react';
import { describeCause, formatLatency } from '../../components/format.ts';
import { StatusBadge, Time } from '../../components/text.tsx';
import { LabelChips } from '../../labels/label-chips.tsx';
import { useDefaultRegion } from '../../session/session.ts';
import type { MonitorsSearch } from '../monitors-search.ts';
import { regionsOf } from './arrange-monitors.ts';
import { CheckBars, LatencySparkline, useRecentChecks } from './check-bars.tsx';
import { useMonitor, useVirtualRows } from './list-hooks.ts';
import classes from './monitor-table.module.css';
import { latestLatency } from './recent-checks.ts';

/** In pixels, without and with a line of labels. Must match monitor-table.module.css. */
export const ROW_HEIGHTS = { desktop: [60, 80], phone: [72, 102] } as const;
const MAX_LABELS = 2;

const COLUMNS = [
  { key: 'status', label: 'Status' },
  { key: 'name', label: 'Monitor' },
  { key: 'checks', label: 'Latest checks' },
  { key: 'latency', label: 'Latency' },
  { key: 'regions', label: 'Regions' },
  { key: 'checked', label: 'Last check' },
] as const;

interface MonitorTableProps {
  readonly ids: readonly string[];
  readonly rowHeight: number;
  /** Whether each row has a line for labels. */
  readonly hasLabels: boolean;
  readonly search: MonitorsSearch;
  /** Null: the rows have no checkboxes. */
  readonly selected: ReadonlySet<string> | null;
  /** Must not change. */
  readonly onSelect: (id: string, isSelected: boolean) => void;
}

/** The list; on a phone, each row becomes two lines. Only the rows on screen are in the document. */
export function MonitorTable(props: MonitorTableProps): ReactNode {
  const { ids, rowHeight, hasLabels, search, selected, onSelect } = props;
  const defaultRegion = useDefaultRegion();
  const { containerRef, indexes, before, after } = useVirtualRows(ids.length, rowHeight);
  return (
    <table
      ref={containerRef}
      className={classes['table']}
      aria-rowcount={ids.length + 1}
      data-labels={hasLabels}
      data-selecting={selected !== null}
    >
      <caption className={classes['caption']}>Monitors</caption>
      <thead>
        <tr aria-rowindex={1}>
          {selected !== null && (
            <th scope="col" className={classes['select']}>
              <VisuallyHidden>Selected</VisuallyHidden>
            </th>
          )}
          {COLUMNS.map(({ key, label }) => (
            <th key={key} scope="col" className={classes[key]}>
              {label}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        <Gap height={before} />
        {indexes.map((index) => {
          const id = ids[index];
          return id === undefined ? null : (
            <MonitorRow
              key={id}
              id={id}
              index={index}
              defaultRegion={defaultRegion}
              search={search}
              isSelected={selected && selected.has(id)}
              onSelect={onSelect}
            />
          );
        })}
        <Gap height={after} />
      </tbody>
    </table>
  );
}

function Gap({ height }: { readonly height: number }): ReactNode {
  if (height === 0) return null;
  return (
    <tr aria-hidden className={classes['gap']}>
      {/* oxlint-disable-next-line jsx-a11y/control-has-associated-label -- it is empty and hidden */}
      <td colSpan={COLUMNS.length + 1} style={{ height }} />
    </tr>
  );
}

interface MonitorRowProps {
  readonly id: string;
  readonly index: number;
  readonly defaultRegion: string;
  readonly search: MonitorsSearch;
  /** Null: the row has no checkbox. */
  readonly isSelected: boolean | null;
  readonly onSelect: MonitorTableProps['onSelect'];
}

const MonitorRow = memo(function MonitorRow(props: MonitorRowProps) {
  const { id, index, defaultRegion, search, isSelected, onSelect } = props;
  const monitor = useMonitor(id);
  if (monitor === undefined) return null;
  const { name, url, status, statusSince, lastCheckedAt, labels, errorDetail } = monitor;
  const cause = status === 'DOWN' && errorDetail !== null ? describeCause(null, errorDetail) : null;
  const regions = regionsOf(monitor, defaultRegion);
  return (
    <tr aria-rowindex={index + 2} className={classes['row']} data-status={status}>
      {isSelected !== null && (
        <td className={classes['select']}>
          <input
            type="checkbox"
            aria-label={`Select ${name}`}
            checked={isSelected}
            onChange={(event) => onSelect(id, event.currentTarget.checked)}
          />
        </td>
      )}
      <td className={classes['status']}>
        <StatusBadge status={status} />
        <div className={classes['quiet']}>
          <Time value={statusSince} as="for" />
        </div>
      </td>
      <th scope="row" className={classes['name']}>
        <Link
          to="/monitors/$monitorId"
          params={{ monitorId: id }}
          className={classes['link']}
          title={[name, url, ...(cause === null ? [] : [cause])].join(' · ')}
        >
          {name}
        </Link>
        {cause === null ? (
          <div className={classes['quiet']}>{url}</div>
        ) : (
          <div className={classes['cause']}>{cause}</div>
        )}
        {Object.keys(labels).length > 0 && (
          <div className={classes['labels']}>
            <LabelChips labels={labels} search={search} max={MAX_LABELS} />
          </div>
        )}
      </th>
      <CheckCells id={id} />
      <td className={classes['regions']} title={regions.join(', ')}>
        {regions[0]}
        {regions.length > 1 && ` +${regions.length - 1}`}
      </td>
      <td className={classes['checked']}>
        {lastCheckedAt === null ? 'Never' : <Time value={lastCheckedAt} as="ago" />}
      </td>
    </tr>
  );
});

function CheckCells({ id }: { readonly id: string }): ReactNode {
  const checks = useRecentChecks(id);
  const latency = latestLatency(checks ?? []);
  return (
    <>
      <td className={classes['checks']}>
        <CheckBars checks={checks} />
      </td>
      <td className={classes['latency']}>
        <div className={classes['latencies']}>
          <LatencySparkline checks={checks} />
          <span className={classes['figure']}>{latency === null ? '–' : formatLatency(latency)}</span>
        </div>
      </td>
    </>
  );
}
