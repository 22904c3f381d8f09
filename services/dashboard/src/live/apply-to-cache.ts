import type { Monitor } from '@tocsin/contracts/monitor';
import type { QueryClient } from '@tanstack/react-query';
import { monitorsQuery } from '../monitors/queries.ts';
import type { LiveBatch, LiveStream } from './live-stream.ts';

/** Keeps the cached lists as the stream says. @returns what ends it */
export function applyToCache(stream: LiveStream, queryClient: QueryClient): () => void {
  const askedFor = new Set<string>();
  return stream.onBatch((batch) => {
    if (batch.reset) {
      void queryClient.invalidateQueries();
      return;
    }
    updateList(queryClient, batch, askedFor);
    if (batch.statusChanges.length === 0) return;
    void queryClient.invalidateQueries({ queryKey: ['incidents'] });
    for (const { monitorId } of batch.statusChanges)
      void queryClient.invalidateQueries({ queryKey: ['monitor', monitorId] });
  });
}

function updateList(queryClient: QueryClient, batch: LiveBatch, askedFor: Set<string>): void {
  const { queryKey } = monitorsQuery;
  const list = queryClient.getQueryState(queryKey);
  if (list?.data === undefined) return;
  // No younger than it is: names, and what is gone, the stream does not tell.
  queryClient.setQueryData(queryKey, updateMonitors(list.data, batch), { updatedAt: list.dataUpdatedAt });
  // A monitor made elsewhere. One that is not in the list then either was deleted meanwhile.
  const fresh = unknownMonitors(list.data, batch).filter((id) => !askedFor.has(id));
  if (fresh.length === 0) return;
  for (const id of fresh) askedFor.add(id);
  void queryClient.invalidateQueries({ queryKey });
}

/** The monitors of the batch that the list does not have. */
function unknownMonitors(monitors: readonly Monitor[], batch: LiveBatch): string[] {
  const unknown = new Set([...batch.checks, ...batch.statusChanges].map(({ monitorId }) => monitorId));
  for (const { id } of monitors) unknown.delete(id);
  return [...unknown];
}

/** The list with what the batch says of each; records that nothing is said of stay the same objects. */
export function updateMonitors(monitors: readonly Monitor[], batch: LiveBatch): Monitor[] {
  const checkedAt = new Map(batch.checks.map(({ monitorId, timestamp }) => [monitorId, timestamp]));
  const changes = new Map(batch.statusChanges.map((change) => [change.monitorId, change]));
  return monitors.map((monitor) => {
    const lastCheckedAt = later(checkedAt.get(monitor.id), monitor.lastCheckedAt);
    const change = changes.get(monitor.id);
    if (lastCheckedAt === monitor.lastCheckedAt && change === undefined) return monitor;
    if (change === undefined || change.timestamp < monitor.statusSince) return { ...monitor, lastCheckedAt };
    return { ...monitor, lastCheckedAt, status: change.status, statusSince: change.timestamp };
  });
}

function later(one: string | undefined, other: string | null): string | null {
  return one !== undefined && (other === null || one > other) ? one : other;
}
