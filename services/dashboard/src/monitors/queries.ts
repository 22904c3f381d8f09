/* oxlint-disable typescript/explicit-module-boundary-types -- the library infers the types of the data */
import { keepPreviousData, type QueryClient, queryOptions } from '@tanstack/react-query';
import { LIMITS } from '@tocsin/contracts/limits';
import type { Event, RecentChecks } from '@tocsin/contracts/monitors/events';
import type { Monitor } from '@tocsin/contracts/monitors/monitor';
import type { MonitorOverview } from '@tocsin/contracts/monitors/overview';
import type { MonitorStates, MonitorStats } from '@tocsin/contracts/monitors/stats';
import { refreshEvery } from '../api/query-client.ts';
import { api } from '../api/request.ts';
import { liveList } from '../live/live-query.ts';
import type { PeriodChoice } from './show/history/period.ts';
import { MAX_EVENTS, mergeEvents } from './show/tail/event-tail.ts';

/** For data that the live stream does not update. */
const REFRESH_MS = 30_000;
export const MAX_INCIDENTS = 20;

const positions = new WeakMap<QueryClient, string>();

/** Live stream position at which the list of monitors was last read, or undefined before it is loaded. */
export function monitorsPosition(queryClient: QueryClient): string | undefined {
  return positions.get(queryClient);
}

/** All monitors, newest first. The live stream keeps the list equal to the server's. */
export const monitorsQuery = queryOptions({
  queryKey: ['monitors'],
  queryFn: async ({ client, signal }) => {
    const { position, monitors } = await api('GET /api/dashboard/overview', { signal });
    positions.set(client, position);
    return monitors;
  },
  staleTime: Infinity,
});

/** Latencies of all monitors over the last full hour and the checks since. */
export const latenciesQuery = queryOptions({
  queryKey: ['monitor-latencies'],
  queryFn: async ({ signal }) => (await api('GET /api/dashboard/monitors/latencies', { signal })).latencies,
  staleTime: 60_000,
  refetchInterval: refreshEvery(60_000),
});

/** Puts a created or updated monitor into the cached list. */
export function putInList(queryClient: QueryClient, saved: Monitor): void {
  queryClient.setQueryData(monitorsQuery.queryKey, (monitors) => {
    if (monitors === undefined) return undefined;
    const known = monitors.find(({ id }) => id === saved.id);
    return [toOverview(saved, known), ...monitors.filter(({ id }) => id !== saved.id)];
  });
}

/** @param known the cached row, whose status may be later than that of `saved` because of the live stream */
function toOverview(saved: Monitor, known: MonitorOverview | undefined): MonitorOverview {
  const latest = known !== undefined && known.statusSince > saved.statusSince ? known : saved;
  const { status, statusSince, errorDetail } = latest;
  const isFailing =
    saved.enabled && (status === 'DOWN' || (status === 'MAINTENANCE' && known?.failing === true));
  return {
    certificateExpiresAt: null,
    incident: null,
    ...known,
    ...saved,
    status,
    statusSince,
    errorDetail,
    lastCheckedAt: known?.lastCheckedAt ?? saved.lastCheckedAt,
    failing: isFailing,
  };
}

export const monitorQuery = (id: string) =>
  queryOptions({
    queryKey: ['monitor', id],
    queryFn: ({ signal }) => api('GET /api/dashboard/monitors/:id', { id, signal }),
  });

export interface History {
  readonly stats: MonitorStats;
  readonly states: MonitorStates;
}

/** Statistics and states of a period. They share a cache entry, so that figures shown together have the same age. */
export const monitorHistoryQuery = (id: string, period: PeriodChoice) =>
  queryOptions({
    queryKey: ['monitor', id, 'history', period],
    queryFn: async ({ signal }): Promise<History> => {
      const options = { id, query: period, signal };
      const [{ stats }, { states }] = await Promise.all([
        api('GET /api/dashboard/monitors/:id/stats', options),
        api('GET /api/dashboard/monitors/:id/states', options),
      ]);
      return { stats, states };
    },
    // The charts advance even without checks.
    refetchInterval: refreshEvery(60_000),
    placeholderData: keepPreviousData,
  });

/** The current state of a monitor in each region. */
export const monitorRegionsQuery = (id: string) =>
  queryOptions({
    queryKey: ['monitor', id, 'regions'],
    queryFn: async ({ signal }) =>
      (await api('GET /api/dashboard/monitors/:id/regions', { id, signal })).regions,
    refetchInterval: refreshEvery(REFRESH_MS),
  });

/** Latest incidents of a monitor, newest first. */
export const monitorIncidentsQuery = (id: string) =>
  queryOptions({
    queryKey: ['incidents', 'of-monitor', id],
    queryFn: async ({ signal }) => {
      const query = { monitorId: id, limit: String(MAX_INCIDENTS) };
      return (await api('GET /api/dashboard/incidents', { query, signal })).incidents;
    },
  });

/** Latest events of a monitor, newest first. `dataUpdatedAt` is 0 until they are loaded. The live stream then adds events. */
export const eventTailQuery = (id: string, load: typeof loadEvents = loadEvents) =>
  queryOptions({
    queryKey: ['event-tail', id],
    queryFn: ({ client, queryKey, signal }) => {
      // A reload fetches as many events as the list can contain, so that no event is missing after an interruption.
      const isReload = client.getQueryData(queryKey) !== undefined;
      return load(id, isReload ? MAX_EVENTS : LIMITS.eventsPerRequest.default, signal);
    },
    ...liveList(mergeEvents),
  });

async function loadEvents(id: string, limit: number, signal: AbortSignal): Promise<readonly Event[]> {
  const query = { limit: String(limit) };
  return (await api('GET /api/dashboard/monitors/:id/events', { id, query, signal })).events;
}

/** @param monitorIds 1 to 200 */
export async function loadRecentChecks(monitorIds: readonly string[]): Promise<RecentChecks[]> {
  const query = { monitorIds: monitorIds.join(',') };
  return (await api('GET /api/dashboard/monitors/recent-checks', { query })).recentChecks;
}
