import type { Monitor } from '@tocsin/contracts/monitor';
import type { QueryClient } from '@tanstack/react-query';
import { monitorsQuery } from '../monitors/queries.ts';
import type { LiveBatch, LiveStream } from './live-stream.ts';

/** Keeps the cached lists as the stream says. @returns what ends it */
export function applyToCache(stream: LiveStream, queryClient: QueryClient): () => void {
  return stream.onBatch((batch) => {
    if (batch.reset) {
      void queryClient.invalidateQueries();
      return;
    }
    queryClient.setQueryData(
      monitorsQuery.queryKey,
      (monitors) => monitors && updateMonitors(monitors, batch),
    );
    if (batch.statusChanges.length === 0) return;
    void queryClient.invalidateQueries({ queryKey: ['incidents'] });
    for (const { monitorId } of batch.statusChanges)
      void queryClient.invalidateQueries({ queryKey: ['monitor', monitorId] });
  });
}

/** The list with what the batch says of each; records that nothing is said of stay the same objects. */
export function updateMonitors(monitors: readonly Monitor[], batch: LiveBatch): Monitor[] {
  const checkedAt = new Map(batch.checks.map(({ monitorId, timestamp }) => [monitorId, timestamp]));
  const changes = new Map(batch.statusChanges.map((change) => [change.monitorId, change]));
  return monitors.map((monitor) => {
    const lastCheckedAt = checkedAt.get(monitor.id) ?? monitor.lastCheckedAt;
    const change = changes.get(monitor.id);
    if (lastCheckedAt === monitor.lastCheckedAt && change === undefined) return monitor;
    if (change === undefined || change.timestamp < monitor.statusSince) return { ...monitor, lastCheckedAt };
    return { ...monitor, lastCheckedAt, status: change.status, statusSince: change.timestamp };
  });
}
