import { useCallback, useEffect, useMemo, useSyncExternalStore } from 'react';
import { useLiveStream } from '../../../live/live-provider.tsx';
import { eventLoader } from '../queries.ts';
import { EventTail, type TailSnapshot } from './event-tail.ts';

/** The latest events of one monitor, as they happen. */
export function useEventTail(monitorId: string): TailSnapshot & { readonly catchUp: () => void } {
  const stream = useLiveStream();
  const tail = useMemo(() => new EventTail(monitorId, stream, eventLoader(monitorId)), [monitorId, stream]);
  useEffect(() => tail.start(), [tail]);
  const subscribe = useCallback((listener: () => void) => tail.onChange(listener), [tail]);
  const snapshot = useSyncExternalStore(subscribe, () => tail.snapshot);
  return { ...snapshot, catchUp: () => void tail.catchUp() };
}
