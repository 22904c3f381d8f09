import { useQuery } from '@tanstack/react-query';
import { type ReactNode, useMemo } from 'react';
import classes from './check-bars.module.css';
import { recentChecksQuery } from './recent-checks-query.ts';
import {
  describeLatencies,
  describePassed,
  drawBars,
  DRAWING,
  drawSparkline,
  type RecentCheck,
} from './recent-checks.ts';

/** Oldest first, or null while they load. */
export function useRecentChecks(monitorId: string): readonly RecentCheck[] | null {
  const { data = null, dataUpdatedAt } = useQuery(recentChecksQuery(monitorId));
  return dataUpdatedAt === 0 ? null : data;
}

interface ChecksProps {
  /** Oldest first, or null while they load. */
  readonly checks: readonly RecentCheck[] | null;
}

const NO_CHECKS: readonly RecentCheck[] = [];

/** The latest checks as bars. Bars of failed checks are red and taller, bars of inconclusive checks gray and dashed. */
export function CheckBars({ checks }: ChecksProps): ReactNode {
  const { none, up, down, inconclusive } = useMemo(() => drawBars(checks ?? NO_CHECKS), [checks]);
  return (
    <Drawing kind="bars" label={checks && describePassed(checks)}>
      <path d={none} className={classes['none']} />
      <path d={up} className={classes['up']} />
      <path d={down} className={classes['down']} />
      <path d={inconclusive} className={classes['inconclusive']} />
    </Drawing>
  );
}

export function LatencySparkline({ checks }: ChecksProps): ReactNode {
  const path = useMemo(() => drawSparkline(checks ?? NO_CHECKS), [checks]);
  return (
    <Drawing kind="sparkline" label={checks && describeLatencies(checks)}>
      <path d={path} />
    </Drawing>
  );
}

interface DrawingProps {
  readonly kind: 'bars' | 'sparkline';
  /** Null while the checks load. */
  readonly label: string | null;
  readonly children: ReactNode;
}

function Drawing({ kind, label, children }: DrawingProps): ReactNode {
  return (
    <svg
      className={classes[kind]}
      viewBox={`0 0 ${DRAWING.width} ${DRAWING.height}`}
      role="img"
      aria-label={label ?? 'Loading the latest checks'}
    >
      {label !== null && <title>{label}</title>}
      {children}
    </svg>
  );
}
