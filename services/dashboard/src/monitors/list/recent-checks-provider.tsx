import { createContext, useCallback, useContext, useEffect, useState, useSyncExternalStore } from 'react';
import type { ReactNode } from 'react';
import { useLiveStream } from '../../live/live-provider.tsx';
import { loadRecentChecks } from './load-recent-checks.ts';
import { RecentChecksStore } from './recent-checks-store.ts';
import type { RecentCheck } from './recent-checks.ts';

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
