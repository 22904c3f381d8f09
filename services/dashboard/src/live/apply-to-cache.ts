import type { QueryClient, QueryKey } from '@tanstack/react-query';
import type { Event, StatusChange } from '@tocsin/contracts/monitors/events';
import type { Monitor } from '@tocsin/contracts/monitors/monitor';
import { monitorsQuery } from '../monitors/queries.ts';
import type { LiveBatch, LiveStream } from './live-stream.ts';

/** In an outage of many monitors changes come four times a second, for minutes. */
const REFRESH_EVERY_MS = 1_500;

/** The youngest that the stream said of each monitor. */
interface Latest {
  readonly checks: Map<string, Event>;
  readonly statusChanges: Map<string, StatusChange>;
}

/** Keeps the cached lists as the stream says. @returns what ends it */
export function applyToCache(stream: LiveStream, queryClient: QueryClient): () => void {
  const latest: Latest = { checks: new Map(), statusChanges: new Map() };
  const askedFor = new Set<string>();
  const incidents = refreshSoon(queryClient, ['incidents'], REFRESH_EVERY_MS);
  const monitors = refreshSoon(queryClient, monitorsQuery.queryKey, REFRESH_EVERY_MS);
  const endings = [
    incidents.stop,
    monitors.stop,
    keepLoadedListsLive(queryClient, latest, askedFor),
    stream.onState(() => {
      if (stream.state !== 'live') return;
      // The api is there again.
      void queryClient.refetchQueries({ type: 'active', predicate: ({ state }) => state.status === 'error' });
      // It went on from nowhere: what happened since the lists were loaded is not in it.
      if (!stream.resumed) {
        void queryClient.invalidateQueries({ queryKey: monitorsQuery.queryKey });
        void queryClient.invalidateQueries({ queryKey: ['incidents'] });
      }
    }),
    stream.onBatch((batch) => {
      if (batch.reset) {
        askedFor.clear();
        void queryClient.invalidateQueries();
      }
      remember(latest, batch);
      if (updateList(queryClient, batch, askedFor)) monitors.ask();
      if (batch.statusChanges.length === 0) return;
      incidents.ask();
      for (const { monitorId } of batch.statusChanges)
        void queryClient.invalidateQueries({ queryKey: ['monitor', monitorId] });
    }),
  ];
  return () => {
    for (const end of endings) end();
  };
}

/** A list that was read before a change, and arrives after the stream told of it, must not undo it. */
function keepLoadedListsLive(queryClient: QueryClient, latest: Latest, askedFor: Set<string>): () => void {
  const [key] = monitorsQuery.queryKey;
  return queryClient.getQueryCache().subscribe((event) => {
    if (event.type !== 'updated' || event.query.queryKey[0] !== key) return;
    // Those that were to come with it are asked for again.
    if (event.action.type === 'error') askedFor.clear();
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

/** @param askedFor monitors that the list was loaded again for; null: none are looked for @returns whether there are others */
function updateList(queryClient: QueryClient, batch: LiveBatch, askedFor: Set<string> | null): boolean {
  const { queryKey } = monitorsQuery;
  const list = queryClient.getQueryState(queryKey);
  if (list?.data === undefined) return false;
  // No younger than it is: names, and what is gone, the stream does not tell.
  queryClient.setQueryData(queryKey, updateMonitors(list.data, batch), { updatedAt: list.dataUpdatedAt });
  // And no fresher: whoever looks at it next is to load it again.
  if (list.isInvalidated) void queryClient.invalidateQueries({ queryKey, refetchType: 'none' });
  if (askedFor === null) return false;
  // A monitor made elsewhere. One that is not in the list then either was deleted meanwhile.
  const fresh = unknownMonitors(list.data, batch).filter((id) => !askedFor.has(id));
  for (const id of fresh) askedFor.add(id);
  return fresh.length > 0;
}

/** The monitors of the batch that the list does not have. */
function unknownMonitors(monitors: readonly Monitor[], batch: LiveBatch): string[] {
  const unknown = new Set([...batch.checks, ...batch.statusChanges].map(({ monitorId }) => monitorId));
  for (const { id } of monitors) unknown.delete(id);
  return [...unknown];
}

/** The list with what the batch says of each; records that nothing is said of stay the same objects. */
export function updateMonitors(monitors: readonly Monitor[], batch: LiveBatch): Monitor[] {
  const checkedAt = new Map(
    // A check of another URL, which a trigger gave, says nothing of the monitor.
    batch.checks.filter(({ url }) => url === null).map(({ monitorId, timestamp }) => [monitorId, timestamp]),
  );
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

/**
 * What asks for these queries again, at most once in so many milliseconds, however often it is called, and never while they are on their
 * way: an answer that takes longer than the next change would never arrive.
 */
export function refreshSoon(
  queryClient: QueryClient,
  queryKey: QueryKey,
  everyMs: number,
): { readonly ask: () => void; readonly stop: () => void } {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const run = (): void => {
    timer = undefined;
    if (queryClient.isFetching({ queryKey }) > 0) ask();
    else void queryClient.invalidateQueries({ queryKey });
  };
  const ask = (): void => {
    timer ??= setTimeout(run, everyMs);
  };
  return { ask, stop: () => clearTimeout(timer) };
}
