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

/** Provides the recent checks of the monitors on screen. */
export function RecentChecksProvider({ children }: { readonly children: ReactNode }): ReactNode {
  const stream = useLiveStream();
  const [store] = useState(() => new RecentChecksStore(loadRecentChecks));
  useEffect(() => {
    const unsubscribe = stream.onBatch((batch) => {
      if (batch.reset) store.reset();
      store.add(batch.checks);
    });
    return () => {
      unsubscribe();
      store.close();
    };
  }, [stream, store]);
  return <StoreContext value={store}>{children}</StoreContext>;
}

/**
 * @returns oldest first, or null until they are loaded
 * @throws outside of a `RecentChecksProvider`
 */
export function useRecentChecks(monitorId: string): readonly RecentCheck[] | null {
  const store = useContext(StoreContext);
  if (store === null) throw new Error('useRecentChecks requires a RecentChecksProvider');
  const subscribe = useCallback(
    (listener: () => void) => store.watch(monitorId, listener),
    [store, monitorId],
  );
  return useSyncExternalStore(subscribe, () => store.get(monitorId));
}

interface ChecksProps {
  /** Oldest first, or null until they are loaded. */
  readonly checks: readonly RecentCheck[] | null;
}

const NO_CHECKS: readonly RecentCheck[] = [];

/** The latest checks as bars. The bar of a failed check is red and taller. */
export function CheckBars({ checks }: ChecksProps): ReactNode {
  const { none, up, down } = useMemo(() => drawBars(checks ?? NO_CHECKS), [checks]);
  return (
    <Drawing kind="bars" label={checks && describePassed(checks)}>
      <path d={none} className={classes['none']} />
      <path d={up} className={classes['up']} />
      <path d={down} className={classes['down']} />
    </Drawing>
  );
}

/** The latencies of the latest checks as a line. */
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
