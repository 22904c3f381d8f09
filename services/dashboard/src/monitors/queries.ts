/* oxlint-disable typescript/explicit-module-boundary-types -- the library infers the types of the data */
import { queryOptions } from '@tanstack/react-query';
import { LIMITS } from '@tocsin/contracts/limits';
import type { Event, RecentChecks } from '@tocsin/contracts/monitors/events';
import type { StatsWindow } from '@tocsin/contracts/monitors/stats';
import { refreshEvery } from '../api/query-client.ts';
import { api } from '../api/request.ts';
import { liveList } from '../live/live-query.ts';
import { MAX_EVENTS, mergeEvents } from './show/tail/event-tail.ts';

/** For data that the live stream does not update. */
const REFRESH_MS = 30_000;
export const MAX_INCIDENTS = 20;

export const monitorsQuery = queryOptions({
  queryKey: ['monitors'],
  queryFn: async ({ signal }) => (await api('GET /api/dashboard/monitors', { signal })).monitors,
  // The live stream keeps it up to date.
  staleTime: 5 * 60_000,
});

export const monitorQuery = (id: string) =>
  queryOptions({
    queryKey: ['monitor', id],
    queryFn: ({ signal }) => api('GET /api/dashboard/monitors/:id', { id, signal }),
  });

export const monitorStatsQuery = (id: string, window: StatsWindow) =>
  queryOptions({
    queryKey: ['monitor', id, 'stats', window],
    queryFn: async ({ signal }) =>
      (await api('GET /api/dashboard/monitors/:id/stats', { id, query: { window }, signal })).stats,
    // Statistics change with every check.
    refetchInterval: refreshEvery(60_000),
    staleTime: 30_000,
  });

/** The current state of a monitor in each region. */
export const monitorRegionsQuery = (id: string) =>
  queryOptions({
    queryKey: ['monitor', id, 'regions'],
    queryFn: async ({ signal }) =>
      (await api('GET /api/dashboard/monitors/:id/regions', { id, signal })).regions,
    refetchInterval: refreshEvery(REFRESH_MS),
  });

/** The latest incidents of a monitor, newest first. */
export const monitorIncidentsQuery = (id: string) =>
  queryOptions({
    queryKey: ['incidents', 'of-monitor', id],
    queryFn: async ({ signal }) => {
      const query = { monitorId: id, limit: String(MAX_INCIDENTS) };
      return (await api('GET /api/dashboard/incidents', { query, signal })).incidents;
    },
  });

/** The latest events of a monitor, newest first. `dataUpdatedAt` is 0 until they are loaded; then the live stream adds to them. */
export const eventTailQuery = (id: string, load: typeof loadEvents = loadEvents) =>
  queryOptions({
    queryKey: ['event-tail', id],
    queryFn: ({ client, queryKey, signal }) => {
      // A reload fetches as many events as the list can contain, so that none is missing after an interruption of the stream.
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
