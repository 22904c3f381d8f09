import type { QueryClient, QueryKey } from '@tanstack/react-query';
import type { Event, StatusChange } from '@tocsin/contracts/monitors/events';
import type { MonitorOverview } from '@tocsin/contracts/monitors/overview';
import { addRecentCheck } from '../monitors/list/recent-checks-query.ts';
import { eventTailQuery, monitorQuery, monitorsQuery } from '../monitors/queries.ts';
import { regionsQuery } from '../regions/regions.ts';
import { followIncidents } from './incidents.ts';
import { addToList } from './live-query.ts';
import type { LiveBatch, LiveStream } from './live-stream.ts';

/** In a large outage, changes arrive four times a second for minutes. */
const REFRESH_EVERY_MS = 1_500;
/** The api caches the regions for this time. */
const REFRESH_REGIONS_EVERY_MS = 5_000;

/** The latest records of the stream for each monitor. */
interface Latest {
  readonly checks: Map<string, Event>;
  readonly statusChanges: Map<string, StatusChange>;
}

/** Updates the cached lists from the live stream. @returns a function that stops it */
export function applyToCache(stream: LiveStream, queryClient: QueryClient): () => void {
  const latest: Latest = { checks: new Map(), statusChanges: new Map() };
  const reloadedFor = new Set<string>();
  const incidents = throttleRefresh(queryClient, ['incidents'], REFRESH_EVERY_MS);
  const monitors = throttleRefresh(queryClient, monitorsQuery.queryKey, REFRESH_EVERY_MS);
  const windows = throttleRefresh(queryClient, ['maintenance-windows'], REFRESH_EVERY_MS);
  const regions = throttleRefresh(queryClient, regionsQuery.queryKey, REFRESH_REGIONS_EVERY_MS);
  const stops = [
    followIncidents(stream, queryClient, {
      reload: (filters) => void queryClient.invalidateQueries(filters),
      repeat: () => undefined,
    }),
    incidents.stop,
    monitors.stop,
    windows.stop,
    regions.stop,
    keepLoadedListsLive(queryClient, latest, reloadedFor),
    stream.onState(() => {
      if (stream.state !== 'live') return;
      // The API is back.
      void queryClient.refetchQueries({ type: 'active', predicate: ({ state }) => state.status === 'error' });
      // A replay may lack a result that took more than ten seconds to record.
      void queryClient.invalidateQueries({ queryKey: ['event-tail'] });
      // It did not resume: changes since the lists were loaded are not in it.
      if (!stream.resumed) {
        void queryClient.invalidateQueries({ queryKey: monitorsQuery.queryKey });
        void queryClient.invalidateQueries({ queryKey: ['incidents'] });
      }
    }),
    stream.onBatch((batch) => {
      if (batch.reset) {
        reloadedFor.clear();
        void queryClient.invalidateQueries();
      }
      remember(latest, batch);
      for (const check of batch.checks) {
        addRecentCheck(queryClient, check);
        addToList(queryClient, eventTailQuery(check.monitorId).queryKey, [check]);
      }
      for (const { monitorId } of [...batch.checks, ...batch.statusChanges])
        updateMonitor(queryClient, monitorId, batch);
      if (updateList(queryClient, batch, reloadedFor)) monitors.request();
      // The region has probably lost its network.
      if (batch.checks.some(({ inconclusive }) => inconclusive)) regions.request();
      if (batch.statusChanges.length === 0) return;
      incidents.request();
      if (batch.statusChanges.some(isOfMaintenance)) windows.request();
      for (const { monitorId } of batch.statusChanges)
        void queryClient.invalidateQueries({ queryKey: ['monitor', monitorId] });
    }),
  ];
  return () => {
    for (const stop of stops) stop();
  };
}

function isOfMaintenance({ status, previousStatus }: StatusChange): boolean {
  return status === 'MAINTENANCE' || previousStatus === 'MAINTENANCE';
}

/** Updates a cached monitor. It keeps its age, because the stream does not deliver edits. */
function updateMonitor(queryClient: QueryClient, monitorId: string, batch: LiveBatch): void {
  const { queryKey } = monitorQuery(monitorId);
  const cached = queryClient.getQueryState(queryKey);
  if (cached?.data === undefined) return;
  const [monitor = cached.data.monitor] = updateMonitors([cached.data.monitor], batch);
  queryClient.setQueryData(queryKey, { ...cached.data, monitor }, { updatedAt: cached.dataUpdatedAt });
}

/** A list that was read before a change and arrives after it must not undo the change. */
function keepLoadedListsLive(queryClient: QueryClient, latest: Latest, reloadedFor: Set<string>): () => void {
  const [key] = monitorsQuery.queryKey;
  return queryClient.getQueryCache().subscribe((event) => {
    if (event.type !== 'updated' || event.query.queryKey[0] !== key) return;
    // The next unknown monitor reloads the list again.
    if (event.action.type === 'error') reloadedFor.clear();
    if (event.action.type !== 'success' || event.action.manual === true) return;
    updateList(
      queryClient,
      {
        checks: [...latest.checks.values()],
        statusChanges: [...latest.statusChanges.values()],
        reset: false,
      },
      null,
    );
  });
}

function remember(latest: Latest, batch: LiveBatch): void {
  for (const check of batch.checks) latest.checks.set(check.monitorId, check);
  for (const change of batch.statusChanges) latest.statusChanges.set(change.monitorId, change);
}

/**
 * @param reloadedFor the unknown monitors that a reload was requested for; null ignores unknown monitors
 * @returns whether the batch has further monitors that are missing from the list
 */
function updateList(queryClient: QueryClient, batch: LiveBatch, reloadedFor: Set<string> | null): boolean {
  const { queryKey } = monitorsQuery;
  const list = queryClient.getQueryState(queryKey);
  if (list?.data === undefined) return false;
  // The list keeps its age, because the stream does not deliver new names and deletions.
  queryClient.setQueryData(queryKey, updateMonitors(list.data, batch), { updatedAt: list.dataUpdatedAt });
  // Setting the data clears the invalidation.
  if (list.isInvalidated) void queryClient.invalidateQueries({ queryKey, refetchType: 'none' });
  if (reloadedFor === null) return false;
  // An unknown monitor was created elsewhere. If the reloaded list does not have it either, it was deleted.
  const unknown = new Set([...batch.checks, ...batch.statusChanges].map(({ monitorId }) => monitorId));
  for (const { id } of list.data) unknown.delete(id);
  for (const id of reloadedFor) unknown.delete(id);
  for (const id of unknown) reloadedFor.add(id);
  return unknown.size > 0;
}

/** The fields of a monitor that the live stream updates. */
type LiveFields = Pick<MonitorOverview, 'id' | 'status' | 'statusSince' | 'errorDetail' | 'lastCheckedAt'>;

/** Applies a batch to a list. Unchanged monitors stay the same objects. */
export function updateMonitors<One extends LiveFields>(monitors: readonly One[], batch: LiveBatch): One[] {
  const checkedAt = new Map(
    // A triggered check of another URL and an inconclusive one do not count for the monitor.
    batch.checks
      .filter(({ url, inconclusive }) => url === null && !inconclusive)
      .map(({ monitorId, timestamp }) => [monitorId, timestamp]),
  );
  const changes = new Map(batch.statusChanges.map((change) => [change.monitorId, change]));
  return monitors.map((monitor) => {
    const lastCheckedAt = later(checkedAt.get(monitor.id), monitor.lastCheckedAt);
    const change = changes.get(monitor.id);
    if (lastCheckedAt === monitor.lastCheckedAt && change === undefined) return monitor;
    if (change === undefined || change.timestamp < monitor.statusSince) return { ...monitor, lastCheckedAt };
    const { status, timestamp: statusSince, errorDetail } = change;
    return { ...monitor, lastCheckedAt, status, statusSince, errorDetail };
  });
}

function later(one: string | undefined, other: string | null): string | null {
  return one !== undefined && (other === null || one > other) ? one : other;
}

/**
 * Refetches queries at most once in `everyMs`, however often `request` is called. It waits for a running fetch: if it canceled one, a
 * response slower than the next change would never arrive.
 */
export function throttleRefresh(
  queryClient: QueryClient,
  queryKey: QueryKey,
  everyMs: number,
): { readonly request: () => void; readonly stop: () => void } {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const request = (): void => {
    timer ??= setTimeout(() => {
      timer = undefined;
      if (queryClient.isFetching({ queryKey }) > 0) request();
      else void queryClient.invalidateQueries({ queryKey });
    }, everyMs);
  };
  return { request, stop: () => clearTimeout(timer) };
}
