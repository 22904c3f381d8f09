import { useQueryClient } from '@tanstack/react-query';
import { createContext, type ReactNode, useContext, useEffect, useState, useSyncExternalStore } from 'react';
import { applyToCache } from './apply-to-cache.ts';
import { type LiveStateName, LiveStream, pauseWhileHidden } from './live-stream.ts';

const LiveContext = createContext<LiveStream | null>(null);

/** One live stream for all pages of somebody who is signed in. */
export function LiveProvider({ children }: { readonly children: ReactNode }): ReactNode {
  const queryClient = useQueryClient();
  const [stream] = useState(() => new LiveStream());
  useEffect(() => {
    const forget = applyToCache(stream, queryClient);
    stream.open();
    const stayOpen = pauseWhileHidden(stream, document);
    return () => {
      stayOpen();
      stream.close();
      forget();
    };
  }, [stream, queryClient]);
  return <LiveContext value={stream}>{children}</LiveContext>;
}

/** @throws outside of a `LiveProvider` */
export function useLiveStream(): LiveStream {
  const stream = useContext(LiveContext);
  if (stream === null) throw new Error('useLiveStream needs a LiveProvider above');
  return stream;
}

export function useLiveState(): LiveStateName {
  const stream = useLiveStream();
  return useSyncExternalStore(
    (listener) => stream.onState(listener),
    () => stream.state,
  );
}
