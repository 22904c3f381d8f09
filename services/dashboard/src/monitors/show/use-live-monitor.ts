import { useQueryClient, type QueryClient } from '@tanstack/react-query';
import { useEffect } from 'react';
import { updateMonitors } from '../../live/apply-to-cache.ts';
import { useLiveStream } from '../../live/live-provider.tsx';
import type { LiveBatch } from '../../live/live-stream.ts';
import { monitorQuery } from '../queries.ts';

/** Keeps the cached record of one monitor as the live stream says, at once: what is loaded again afterwards may take a moment. */
export function useLiveMonitor(monitorId: string): void {
  const stream = useLiveStream();
  const queryClient = useQueryClient();
  useEffect(
    () =>
      stream.onBatch((batch) => {
        updateRecord(queryClient, monitorId, batch);
        if (beginsOrEndsMaintenance(batch, monitorId))
          void queryClient.invalidateQueries({ queryKey: ['maintenance-windows'] });
      }),
    [stream, queryClient, monitorId],
  );
}

function updateRecord(queryClient: QueryClient, monitorId: string, batch: LiveBatch): void {
  const { queryKey } = monitorQuery(monitorId);
  const cached = queryClient.getQueryState(queryKey);
  if (cached?.data === undefined) return;
  const [monitor] = updateMonitors([cached.data.monitor], batch);
  if (monitor === undefined || monitor === cached.data.monitor) return;
  // No younger than it is: the stream does not tell what somebody edits.
  queryClient.setQueryData(queryKey, { ...cached.data, monitor }, { updatedAt: cached.dataUpdatedAt });
}

function beginsOrEndsMaintenance({ statusChanges }: LiveBatch, id: string): boolean {
  return statusChanges.some(
    ({ monitorId, previousStatus, status }) =>
      monitorId === id && (previousStatus === 'MAINTENANCE' || status === 'MAINTENANCE'),
  );
}
