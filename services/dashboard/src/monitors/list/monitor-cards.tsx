import { Link } from '@tanstack/react-router';
import { memo, type ReactNode } from 'react';
import { formatLatency } from '../../components/format-latency.ts';
import { StatusBadge } from '../../components/status-badge.tsx';
import { Time } from '../../components/time.tsx';
import { CheckBars } from './check-bars.tsx';
import classes from './monitor-cards.module.css';
import { latestLatency } from './recent-checks.ts';
import { useRecentChecks } from './recent-checks-provider.tsx';
import { useMonitor } from './use-monitor.ts';
import { useVirtualRows } from './use-virtual-rows.ts';

/** As in monitor-cards.module.css. */
export const CARD_HEIGHT = 72;

/** The list on a phone: two lines a monitor. */
export function MonitorCards({ ids }: { readonly ids: readonly string[] }): ReactNode {
  const { containerRef, indexes, before, after } = useVirtualRows<HTMLUListElement>(ids.length, CARD_HEIGHT);
  return (
    <ul
      ref={containerRef}
      className={classes['cards']}
      aria-label="Monitors"
      style={{ paddingTop: before, paddingBottom: after }}
    >
      {indexes.map((index) => {
        const id = ids[index];
        return id === undefined ? null : (
          <MonitorCard key={id} id={id} position={index + 1} count={ids.length} />
        );
      })}
    </ul>
  );
}

interface MonitorCardProps {
  readonly id: string;
  readonly position: number;
  readonly count: number;
}

const MonitorCard = memo(function MonitorCard({ id, position, count }: MonitorCardProps) {
  const monitor = useMonitor(id);
  const checks = useRecentChecks(id);
  if (monitor === undefined) return null;
  const latency = latestLatency(checks ?? []);
  return (
    <li
      className={classes['card']}
      data-status={monitor.status}
      aria-setsize={count}
      aria-posinset={position}
    >
      <div className={classes['line']}>
        <Link to="/monitors/$monitorId" params={{ monitorId: id }} className={classes['name']}>
          {monitor.name}
        </Link>
        <StatusBadge status={monitor.status} />
      </div>
      <div className={classes['line']}>
        <div className={classes['bars']}>
          <CheckBars checks={checks} />
        </div>
        <span className={classes['figure']}>{latency === null ? '–' : formatLatency(latency)}</span>
        <Time value={monitor.statusSince} as="for" />
      </div>
    </li>
  );
});
