import { useMemo, type ReactNode } from 'react';
import classes from './check-bars.module.css';
import { DRAWING, drawBars, drawSparkline } from './draw-checks.ts';
import { describeLatencies, describePassed, type RecentCheck } from './recent-checks.ts';

interface ChecksProps {
  /** Oldest first; null: not known yet. */
  readonly checks: readonly RecentCheck[] | null;
}

const VIEW_BOX = `0 0 ${DRAWING.width} ${DRAWING.height}`;
const NONE: readonly RecentCheck[] = [];

/** The latest checks as bars; a failed one is taller, and red. */
export function CheckBars({ checks }: ChecksProps): ReactNode {
  const bars = useMemo(() => drawBars(checks ?? NONE), [checks]);
  const label = checks === null ? 'Loading the latest checks' : describePassed(checks);
  return (
    <svg className={classes['bars']} viewBox={VIEW_BOX} role="img" aria-label={label}>
      {checks !== null && <title>{label}</title>}
      <path d={bars.none} className={classes['none']} />
      <path d={bars.up} className={classes['up']} />
      <path d={bars.down} className={classes['down']} />
    </svg>
  );
}

/** The latency of the latest checks as a line. */
export function LatencySparkline({ checks }: ChecksProps): ReactNode {
  const path = useMemo(() => drawSparkline(checks ?? NONE), [checks]);
  const label = checks === null ? 'Loading the latencies' : describeLatencies(checks);
  return (
    <svg className={classes['sparkline']} viewBox={VIEW_BOX} role="img" aria-label={label}>
      {checks !== null && <title>{label}</title>}
      <path d={path} />
    </svg>
  );
}
