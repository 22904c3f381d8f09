import { useQueryClient } from '@tanstack/react-query';
import { useEffect } from 'react';
import { updateMonitors } from '../../live/apply-to-cache.ts';
import { useLiveStream } from '../../live/live-provider.tsx';
import { monitorQuery } from '../queries.ts';

/** Keeps the cached record of one monitor as the live stream says, at once: what is loaded again afterwards may take a moment. */
export function useLiveMonitor(monitorId: string): void {
  const stream = useLiveStream();
  const queryClient = useQueryClient();
  useEffect(
    () =>
      stream.onBatch((batch) => {
        queryClient.setQueryData(monitorQuery(monitorId).queryKey, (cached) => {
          if (cached === undefined) return cached;
          const [monitor = cached.monitor] = updateMonitors([cached.monitor], batch);
          return monitor === cached.monitor ? cached : { ...cached, monitor };
        });
        const maintained = batch.statusChanges.some(
          (change) =>
            change.monitorId === monitorId &&
            (change.status === 'MAINTENANCE' || change.previousStatus === 'MAINTENANCE'),
        );
        if (maintained) void queryClient.invalidateQueries({ queryKey: ['maintenance-windows'] });
      }),
    [stream, queryClient, monitorId],
  );
}
