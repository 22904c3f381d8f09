import {
  createContext,
  type ReactNode,
  useCallback,
  useContext,
  useEffect,
  useMemo,
  useState,
  useSyncExternalStore,
} from 'react';
import { useLiveStream } from '../../live/live-provider.tsx';
import { loadRecentChecks } from '../queries.ts';
import classes from './check-bars.module.css';
import { RecentChecksStore } from './recent-checks-store.ts';
import {
  describeLatencies,
  describePassed,
  drawBars,
  DRAWING,
  drawSparkline,
  type RecentCheck,
} from './recent-checks.ts';

const StoreContext = createContext<RecentChecksStore | null>(null);

/** Keeps the recent checks of the monitors that are shown below. */
export function RecentChecksProvider({ children }: { readonly children: ReactNode }): ReactNode {
  const stream = useLiveStream();
  const [store] = useState(() => new RecentChecksStore(loadRecentChecks));
  useEffect(() => {
    const leave = stream.onBatch((batch) => {
      if (batch.reset) store.reset();
      store.add(batch.checks);
    });
    return () => {
      leave();
      store.close();
    };
  }, [stream, store]);
  return <StoreContext value={store}>{children}</StoreContext>;
}

/**
 * @returns oldest first; null as long as they are not known
 * @throws outside of a `RecentChecksProvider`
 */
export function useRecentChecks(monitorId: string): readonly RecentCheck[] | null {
  const store = useContext(StoreContext);
  if (store === null) throw new Error('useRecentChecks needs a RecentChecksProvider above');
  const subscribe = useCallback(
    (listener: () => void) => store.watch(monitorId, listener),
    [store, monitorId],
  );
  return useSyncExternalStore(subscribe, () => store.get(monitorId));
}

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
