import { type QueryClient, type QueryFilters, QueryObserver } from '@tanstack/react-query';
import type { StatusChange } from '@tocsin/contracts/monitors/events';
import { isWorthRetrying } from '../api/query-client.ts';
import { addRecentCheck } from '../monitors/list/recent-checks-query.ts';
import { eventTailQuery, monitorQuery, monitorsPosition, monitorsQuery } from '../monitors/queries.ts';
import { regionsQuery } from '../regions/regions.ts';
import { followIncidents } from './incidents.ts';
import { LiveMonitors, updateMonitors } from './live-monitors.ts';
import { addToList } from './live-query.ts';
import type { LiveBatch, LiveStream } from './live-stream.ts';
import { Reloader } from './reloader.ts';

/** In a large outage, changes arrive four times a second for minutes. */
const RELOAD_AFTER_MS = 500;
/** The api caches the regions for this time. */
const RELOAD_REGIONS_AFTER_MS = 5_000;
/** The api reads which of them are late at this interval. */
const RELOAD_LATE_AFTER_MS = 2_000;
/** The stream begins with the ten seconds before its position, less the time that a commit takes. */
const COVERED_MS = 5_000;

/**
 * Opens the stream where the list of monitors was read, and updates the cache from it.
 * @param onCorrected see `LiveMonitorsOptions`
 * @returns a function that stops it, but does not close the stream
 */
export function applyToCache(
  stream: LiveStream,
  queryClient: QueryClient,
  onCorrected: () => void,
): () => void {
  const reloader = new Reloader(queryClient);
  const position = (): string | undefined => monitorsPosition(queryClient);
  const monitors = new LiveMonitors(queryClient, reloader, { position, onCorrected });
  let hasBeenLive = false;
  const stops = [
    followIncidents(stream, queryClient, reloader),
    stream.onState(() => {
      if (stream.state !== 'live') return;
      // Without a position, the stream has nothing of what happened before.
      if (!stream.resumed) reloader.reload();
      // Messages about regions are not replayed.
      else reloader.reload({ queryKey: regionsQuery.queryKey });
      // A replay may lack a result that took more than ten seconds to record.
      if (stream.resumed && hasBeenLive) reloader.reload({ queryKey: ['event-tail'] });
      // The API is back. What is not found stays so.
      void queryClient.refetchQueries({
        type: 'active',
        predicate: ({ state: { error } }) => isWorthRetrying(error),
      });
      hasBeenLive = true;
    }),
    stream.onBatch((batch) => {
      if (batch.reset) reloader.reload();
      for (const check of batch.checks) {
        addRecentCheck(queryClient, check);
        addToList(queryClient, eventTailQuery(check.monitorId).queryKey, [check]);
      }
      monitors.apply(batch);
      for (const { monitorId } of [...batch.checks, ...batch.statusChanges])
        updateMonitor(queryClient, monitorId, batch);
      reloadChanged(batch, reloader);
    }),
    stream.onRegions(() => {
      const { queryKey } = regionsQuery;
      reloader.reload({ queryKey });
      // Another api may have responded, with what it read before.
      reloader.reloadAfter(RELOAD_LATE_AFTER_MS, queryKey);
    }),
    stream.onDigest((digest) => monitors.compare(digest)),
    openWithList(stream, queryClient, reloader),
    () => monitors.stop(),
    () => reloader.stop(),
  ];
  return () => {
    for (const stop of stops) stop();
  };
}

/**
 * Opens the stream at the position of the list, so that it begins with every change since the read. If the list cannot be loaded, the
 * stream begins now, and everything is reloaded.
 */
function openWithList(stream: LiveStream, queryClient: QueryClient, reloader: Reloader): () => void {
  const startedAt = performance.now();
  // It also keeps the list in the cache: the stream updates it on every page.
  const list = new QueryObserver(queryClient, monitorsQuery);
  let isOpened = false;
  const open = (): void => {
    if (isOpened || list.getCurrentResult().isPending) return;
    isOpened = true;
    stream.open(monitorsPosition(queryClient));
    // Other data may have been read long before the list.
    if (performance.now() - startedAt > COVERED_MS)
      reloader.reload({ predicate: ({ queryKey: [key] }) => key !== monitorsQuery.queryKey[0] });
  };
  const unsubscribe = list.subscribe(open);
  open();
  return unsubscribe;
}

/** Reloads what depends on the records but is not part of them. */
function reloadChanged({ checks, statusChanges }: LiveBatch, reloader: Reloader): void {
  reloader.repeat(ofMonitors(checks));
  // The region has probably lost its network.
  if (checks.some(({ inconclusive }) => inconclusive))
    reloader.reloadAfter(RELOAD_REGIONS_AFTER_MS, regionsQuery.queryKey);
  if (statusChanges.length === 0) return;
  reloader.reload(ofMonitors(statusChanges));
  reloader.reloadAfter(RELOAD_AFTER_MS, ['incidents']);
  if (statusChanges.some(isOfMaintenance)) reloader.reloadAfter(RELOAD_AFTER_MS, ['maintenance-windows']);
}

function ofMonitors(records: readonly { readonly monitorId: string }[]): QueryFilters {
  const ids = new Set(records.map(({ monitorId }) => monitorId));
  return { predicate: ({ queryKey: [key, id] }) => key === 'monitor' && ids.has(String(id)) };
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
