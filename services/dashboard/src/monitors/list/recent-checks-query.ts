import { type QueryClient, queryOptions } from '@tanstack/react-query';
import { LIMITS } from '@tocsin/contracts/limits';
import type { Event, RecentChecks } from '@tocsin/contracts/monitors/events';
import { addToList, liveList } from '../../live/live-query.ts';
import { loadRecentChecks } from '../queries.ts';
import { mergeChecks, type RecentCheck } from './recent-checks.ts';

/** Rows that leave the viewport before this delay are not loaded. */
const LOAD_AFTER_MS = 60;
/** Checks stay cached for this time after their row leaves the viewport. */
const KEEP_MS = 60_000;

type LoadOne = (monitorId: string, signal: AbortSignal) => Promise<readonly RecentCheck[]>;

/** Batches the requests of monitors that appear at about the same time, except those that have left the viewport. */
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

/** The latest checks of a monitor, oldest first. `dataUpdatedAt` is 0 until they are loaded. The live stream then adds checks. */
// oxlint-disable-next-line typescript/explicit-module-boundary-types -- the library infers the type of the data
export const recentChecksQuery = (monitorId: string, load: LoadOne = loadChecks) =>
  queryOptions({
    queryKey: ['recent-checks', monitorId],
    queryFn: ({ signal }) => load(monitorId, signal),
    gcTime: KEEP_MS,
    ...liveList(mergeChecks),
  });

/** Adds a check from the live stream, except triggered checks of another URL, which do not affect the monitor. */
export function addRecentCheck(queryClient: QueryClient, event: Event): void {
  const { monitorId, url, timestamp, status, inconclusive, latency, region } = event;
  if (url !== null) return;
  const check = { timestamp, status, inconclusive, latency, region };
  addToList(queryClient, recentChecksQuery(monitorId).queryKey, [check]);
}
