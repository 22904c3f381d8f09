import { Tooltip, VisuallyHidden } from '@mantine/core';
import { IconPlugConnectedX } from '@tabler/icons-react';
import { Link } from '@tanstack/react-router';
import type { MonitorOverview } from '@tocsin/contracts/monitors/overview';
import { memo, type ReactNode } from 'react';
import { describeCause, formatLatency } from '../../components/format.ts';
import { StatusAge, StatusBadge, Time, useNow } from '../../components/text.tsx';
import { LabelChips } from '../../labels/label-chips.tsx';
import { describeUnserved, isStale } from '../../regions/regions.ts';
import type { MonitorsSearch } from '../monitors-search.ts';
import { shownStatus } from '../shown-status.ts';
import { regionsOf } from './arrange-monitors.ts';
import { CheckBars, LatencySparkline, useRecentChecks } from './check-bars.tsx';
import type { Column } from './columns.ts';
import { useMonitor } from './list-hooks.ts';
import classes from './monitor-table.module.css';
import { latestLatency } from './recent-checks.ts';

const MAX_LABELS = 2;
/** Certificates that expire sooner are highlighted. */
const SOON_MS = 14 * 24 * 60 * 60 * 1_000;

export interface MonitorRowProps {
  readonly id: string;
  readonly index: number;
  readonly columns: readonly Column[];
  /** In milliseconds, or null if unknown. */
  readonly p95: number | null;
  readonly p99: number | null;
  readonly showsLabels: boolean;
  readonly defaultRegion: string;
  /** Regions without a checker. */
  readonly unserved: readonly string[];
  /** Regions without recent results. */
  readonly silent: readonly string[];
  readonly search: MonitorsSearch;
  /** Null hides the checkbox. */
  readonly isSelected: boolean | null;
  /** @param isRange true to select from the last one to this one */
  readonly onSelect: (id: string, isSelected: boolean, isRange: boolean) => void;
}

export const MonitorRow = memo(function MonitorRow(props: MonitorRowProps) {
  const { id, index, columns, isSelected, onSelect } = props;
  const monitor = useMonitor(id);
  if (monitor === undefined) return null;
  return (
    <tr aria-rowindex={index + 2} className={classes['row']} data-status={shownStatus(monitor)}>
      {isSelected !== null && (
        <td className={classes['select']}>
          <input
            type="checkbox"
            aria-label={`Select ${monitor.name}`}
            checked={isSelected}
            onChange={({ currentTarget, nativeEvent }) =>
              onSelect(id, currentTarget.checked, nativeEvent instanceof MouseEvent && nativeEvent.shiftKey)
            }
          />
        </td>
      )}
      {columns.map((column) => (
        <Cell key={column} column={column} monitor={monitor} row={props} />
      ))}
    </tr>
  );
});

interface CellProps {
  readonly column: Column;
  readonly monitor: MonitorOverview;
  readonly row: MonitorRowProps;
}

function Cell({ column, monitor, row }: CellProps): ReactNode {
  const { certificateExpiresAt, lastCheckedAt } = monitor;
  const regions = regionsOf(monitor, row.defaultRegion);
  switch (column) {
    case 'status':
      return <StatusCell monitor={monitor} regions={regions} row={row} />;
    case 'name':
      return <NameCell monitor={monitor} row={row} />;
    case 'checks':
      return <ChecksCell id={row.id} />;
    case 'latency':
      return <LatencyCell id={row.id} />;
    case 'p95':
    case 'p99':
      return <td className={classes['figure']}>{row[column] === null ? '–' : formatLatency(row[column])}</td>;
    case 'certificate':
      return (
        <td className={classes['figure']} data-soon={isSoon(certificateExpiresAt)}>
          {certificateExpiresAt === null ? '–' : <Time value={certificateExpiresAt} as="ago" />}
        </td>
      );
    case 'regions':
      return (
        <td className={classes['regions']}>
          <span title={regions.join(', ')}>
            {regions[0]}
            {regions.length > 1 && ` +${regions.length - 1}`}
          </span>
        </td>
      );
    case 'checked':
      return (
        <td className={classes['figure']}>
          {lastCheckedAt === null ? 'Never' : <Time value={lastCheckedAt} as="ago" />}
        </td>
      );
  }
}

function isSoon(certificateExpiresAt: string | null): boolean {
  return certificateExpiresAt !== null && Date.parse(certificateExpiresAt) < Date.now() + SOON_MS;
}

interface StatusCellProps extends Omit<CellProps, 'column'> {
  readonly regions: readonly string[];
}

function StatusCell({ monitor, regions, row: { unserved, silent } }: StatusCellProps): ReactNode {
  const { failing, incident } = monitor;
  const status = shownStatus(monitor);
  const now = useNow(silent.length > 0);
  const stale = status !== 'PAUSED' && isStale(monitor, regions, silent, now);
  const person = status === 'DOWN' ? incident?.acknowledgedBy : null;
  return (
    <td className={classes['status']}>
      <div className={classes['state']}>
        <StatusBadge status={status} isStale={stale} />
        <UnservedMark codes={regions.filter((code) => unserved.includes(code))} />
      </div>
      <div className={classes['quiet']} title={person ? `${person} is on it` : undefined}>
        {failing && status === 'MAINTENANCE' && !stale ? (
          <span className={classes['failing']}>failing now</span>
        ) : (
          // The age of the last status says nothing about a paused monitor.
          status !== 'PAUSED' && <StatusAge monitor={monitor} isStale={stale} />
        )}
        {person && ` · ${person} is on it`}
      </div>
    </td>
  );
}

/** Marks a monitor that is not checked from some regions. Renders nothing for an empty list. */
function UnservedMark({ codes }: { readonly codes: readonly string[] }): ReactNode {
  if (codes.length === 0) return null;
  const text = describeUnserved(codes);
  return (
    <Tooltip label={text}>
      <span style={{ display: 'inline-flex', color: 'var(--status-down)' }}>
        <IconPlugConnectedX size={16} aria-hidden />
        <VisuallyHidden>{text}</VisuallyHidden>
      </span>
    </Tooltip>
  );
}

function NameCell({ monitor, row }: Omit<CellProps, 'column'>): ReactNode {
  const { id, name, url, labels, errorDetail } = monitor;
  const cause =
    shownStatus(monitor) === 'DOWN' && errorDetail !== null ? describeCause(null, errorDetail) : null;
  return (
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
      {row.showsLabels && Object.keys(labels).length > 0 && (
        <div className={classes['labels']}>
          <LabelChips labels={labels} search={row.search} max={MAX_LABELS} />
        </div>
      )}
    </th>
  );
}

function ChecksCell({ id }: { readonly id: string }): ReactNode {
  return (
    <td className={classes['checks']}>
      <CheckBars checks={useRecentChecks(id)} />
    </td>
  );
}

function LatencyCell({ id }: { readonly id: string }): ReactNode {
  const checks = useRecentChecks(id);
  const latency = latestLatency(checks ?? []);
  return (
    <td className={classes['latency']}>
      <div className={classes['latencies']}>
        <LatencySparkline checks={checks} />
        <span className={classes['latest']}>{latency === null ? '–' : formatLatency(latency)}</span>
      </div>
    </td>
  );
}
