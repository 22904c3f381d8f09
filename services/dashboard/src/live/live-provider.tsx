import { notifications } from '@mantine/notifications';
import { useQueryClient } from '@tanstack/react-query';
import { createContext, type ReactNode, useContext, useEffect, useState, useSyncExternalStore } from 'react';
import { applyToCache } from './apply-to-cache.ts';
import { type LiveStateName, LiveStream, pauseWhileHidden } from './live-stream.ts';

const LiveContext = createContext<LiveStream | null>(null);

/** Provides one live stream to all pages of a signed-in user. */
export function LiveProvider({ children }: { readonly children: ReactNode }): ReactNode {
  const queryClient = useQueryClient();
  const [stream] = useState(() => new LiveStream());
  useEffect(() => {
    const stopApplying = applyToCache(stream, queryClient, showCorrected);
    const stopPausing = pauseWhileHidden(stream, document);
    return () => {
      stopPausing();
      stream.close();
      stopApplying();
    };
  }, [stream, queryClient]);
  return <LiveContext value={stream}>{children}</LiveContext>;
}

/** Tells the user that the page was wrong for a while. */
function showCorrected(): void {
  notifications.show({
    id: 'corrected',
    color: 'yellow',
    autoClose: false,
    title: 'Statuses corrected',
    message: 'The list of monitors had differed from the server. It has been reloaded.',
  });
}

/** @throws outside of a `LiveProvider` */
export function useLiveStream(): LiveStream {
  const stream = useContext(LiveContext);
  if (stream === null) throw new Error('useLiveStream requires a LiveProvider');
  return stream;
}

export function useLiveState(): LiveStateName {
  const stream = useLiveStream();
  return useSyncExternalStore(
    (listener) => stream.on('state', listener),
    () => stream.state,
  );
}
