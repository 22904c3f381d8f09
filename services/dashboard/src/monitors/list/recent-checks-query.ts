import { type QueryClient, queryOptions } from '@tanstack/react-query';
import { LIMITS } from '@tocsin/contracts/limits';
import type { Event, RecentChecks } from '@tocsin/contracts/monitors/events';
import { loadRecentChecks } from '../queries.ts';
import { mergeChecks, type RecentCheck } from './recent-checks.ts';

/** Rows that leave the screen within this time are not loaded. */
const LOAD_AFTER_MS = 60;
/** How long the checks are kept after their row left the screen. */
const KEEP_MS = 60_000;

type LoadOne = (monitorId: string, signal: AbortSignal) => Promise<readonly RecentCheck[]>;

/** Loads monitors that appear at about the same time with one request, except those that have left the screen. */
export function loadTogether(
  load: (monitorIds: readonly string[]) => Promise<readonly RecentChecks[]>,
): LoadOne {
  let wanted: {
    readonly monitorId: string;
    readonly signal: AbortSignal;
    readonly respond: (checks: Promise<readonly RecentCheck[]>) => void;
  }[] = [];
  const loadWanted = (): void => {
    const present = wanted.filter(({ signal }) => !signal.aborted);
    wanted = [];
    const batchSize = LIMITS.recentChecks.monitors;
    for (let from = 0; from < present.length; from += batchSize) {
      const batch = present.slice(from, from + batchSize);
      const response = load(batch.map(({ monitorId }) => monitorId));
      for (const { monitorId, respond } of batch)
        respond(response.then((all) => all.find((one) => one.monitorId === monitorId)?.checks ?? []));
    }
  };
  return (monitorId, signal) =>
    new Promise((respond) => {
      if (wanted.length === 0) setTimeout(loadWanted, LOAD_AFTER_MS);
      wanted.push({ monitorId, signal, respond });
    });
}

const loadChecks = loadTogether(loadRecentChecks);

/** The latest checks of a monitor, oldest first. `dataUpdatedAt` is 0 until they are loaded; then the live stream adds to them. */
// oxlint-disable-next-line typescript/explicit-module-boundary-types -- the library infers the type of the data
export const recentChecksQuery = (monitorId: string, load: LoadOne = loadChecks) =>
  queryOptions({
    queryKey: ['recent-checks', monitorId],
    queryFn: ({ signal }) => load(monitorId, signal),
    staleTime: ({ state }) => (state.dataUpdatedAt === 0 ? 0 : Infinity),
    gcTime: KEEP_MS,
    // A response must not remove live checks that arrived during the request.
    structuralSharing: (known = [], added) =>
      mergeChecks(known as readonly RecentCheck[], added as readonly RecentCheck[]),
  });

/** Adds checks of the live stream to monitors that are loaded or loading. */
export function addRecentChecks(queryClient: QueryClient, events: readonly Event[]): void {
  for (const { monitorId, url, timestamp, status, latency, region } of events) {
    const { queryKey } = recentChecksQuery(monitorId);
    const state = queryClient.getQueryState(queryKey);
    // A check of another URL does not count for the monitor.
    if (state === undefined || url !== null) continue;
    const check = { timestamp, status, latency, region };
    queryClient.setQueryData(queryKey, [check], { updatedAt: state.dataUpdatedAt });
    // Setting the data clears the invalidation.
    if (state.isInvalidated) void queryClient.invalidateQueries({ queryKey }, { cancelRefetch: false });
  }
}
