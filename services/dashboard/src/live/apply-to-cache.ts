import { type QueryClient, type QueryFilters, QueryObserver } from '@tanstack/react-query';
import { isWorthRetrying } from '../api/query-client.ts';
import { addRecentCheck } from '../monitors/list/recent-checks-query.ts';
import { eventTailQuery, monitorQuery, monitorsPosition, monitorsQuery } from '../monitors/queries.ts';
import { regionsQuery } from '../regions/regions.ts';
import { LiveMonitors, updateIncident, updateMonitors } from './live-monitors.ts';
import { addToList, updateCached } from './live-query.ts';
import type { LiveBatch, LiveStream } from './live-stream.ts';
import { Reloader } from './reloader.ts';

/** In a large outage, changes arrive four times a second for minutes. */
const RELOAD_AFTER_MS = 500;
/** The api caches the regions for this time. */
const RELOAD_REGIONS_AFTER_MS = 5_000;
/** The api looks for late regions at this interval. */
const RELOAD_LATE_AFTER_MS = 2_000;
/** The stream replays the ten seconds before its position. The margin is for the duration of a commit. */
const REPLAYED_MS = 5_000;

/**
 * Opens the stream at the position of the list of monitors, and updates the cache from it.
 * @param onCorrected called after wrong statuses have been reloaded
 * @returns a function that stops the updates, but does not close the stream
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
  if (position() === undefined) stream.listen();
  const stops = [
    stream.on('incident', (incident) => {
      const { queryKey } = monitorsQuery;
      updateCached(queryClient, queryKey, (list) => updateIncident(list, incident));
      // A list that is being read may not have the change yet.
      reloader.repeat({ queryKey });
      reloader.reload({ queryKey: ['incidents'] });
    }),
    stream.on('state', (state) => {
      if (state !== 'live') return;
      // A stream without a position replays nothing.
      if (!stream.resumed) reloader.reload();
      // Messages about regions are not replayed.
      else reloader.reload({ queryKey: regionsQuery.queryKey });
      // A replay may lack a result that took more than ten seconds to record.
      if (stream.resumed && hasBeenLive) reloader.reload({ queryKey: ['event-tail'] });
      // The API is back.
      void queryClient.refetchQueries({
        type: 'active',
        predicate: ({ state: { error } }) => isWorthRetrying(error),
      });
      hasBeenLive = true;
    }),
    stream.on('batch', (batch) => {
      if (batch.reset) reloader.reload();
      for (const check of batch.checks) {
        addRecentCheck(queryClient, check);
        addToList(queryClient, eventTailQuery(check.monitorId).queryKey, [check]);
      }
      monitors.apply(batch);
      for (const { monitorId } of [...batch.checks, ...batch.statusChanges])
        updateCached(queryClient, monitorQuery(monitorId).queryKey, (cached) => {
          const [monitor = cached.monitor] = updateMonitors([cached.monitor], batch);
          return { ...cached, monitor };
        });
      reloadChanged(batch, reloader);
    }),
    stream.on('regions', () => {
      const { queryKey } = regionsQuery;
      reloader.reload({ queryKey });
      // Another api process may have responded with older data.
      reloader.reloadAfter(RELOAD_LATE_AFTER_MS, queryKey);
    }),
    stream.on('digest', (digest) => monitors.compare(digest)),
    openWithList(stream, queryClient, reloader),
    () => monitors.stop(),
    () => reloader.stop(),
  ];
  return () => {
    for (const stop of stops) stop();
  };
}

/**
 * Opens the stream at the position of the list, so that it starts with every change since the read. If the list cannot be loaded, the
 * stream starts now, and everything is reloaded.
 */
function openWithList(stream: LiveStream, queryClient: QueryClient, reloader: Reloader): () => void {
  const startedAt = performance.now();
  // The observer also keeps the list in the cache, because the stream updates it on every page.
  const list = new QueryObserver(queryClient, monitorsQuery);
  let isOpened = false;
  const open = (): void => {
    if (isOpened || list.getCurrentResult().isPending) return;
    isOpened = true;
    stream.open(monitorsPosition(queryClient));
    // Other data may have been read long before the list.
    if (performance.now() - startedAt > REPLAYED_MS)
      reloader.reload({ predicate: ({ queryKey: [key] }) => key !== monitorsQuery.queryKey[0] });
  };
  const unsubscribe = list.subscribe(open);
  open();
  return unsubscribe;
}

/** Reloads data that depends on the records but is not part of them. */
function reloadChanged({ checks, statusChanges }: LiveBatch, reloader: Reloader): void {
  reloader.repeat(ofMonitors(checks));
  // The region has probably lost its network.
  if (checks.some(({ inconclusive }) => inconclusive))
    reloader.reloadAfter(RELOAD_REGIONS_AFTER_MS, regionsQuery.queryKey);
  if (statusChanges.length === 0) return;
  reloader.reload(ofMonitors(statusChanges));
  reloader.reloadAfter(RELOAD_AFTER_MS, ['incidents']);
  if (statusChanges.some(({ status, previousStatus }) => [status, previousStatus].includes('MAINTENANCE')))
    reloader.reloadAfter(RELOAD_AFTER_MS, ['maintenance-windows']);
}

function ofMonitors(records: readonly { readonly monitorId: string }[]): QueryFilters {
  const ids = new Set(records.map(({ monitorId }) => monitorId));
  return { predicate: ({ queryKey: [key, id] }) => key === 'monitor' && ids.has(String(id)) };
}
