import { queryOptions } from '@tanstack/react-query';
import type { Channel } from '@tocsin/contracts/channels/channel';
import type { Incident } from '@tocsin/contracts/incidents/incident';
import { LIMITS } from '@tocsin/contracts/limits';
import type { ListedMaintenanceWindow } from '@tocsin/contracts/maintenance-windows/maintenance-window';
import type { Event, MonitorRegion, RecentChecks } from '@tocsin/contracts/monitors/events';
import type { Monitor, MonitorInput, MonitorUpdate } from '@tocsin/contracts/monitors/monitor';
import type { MonitorStats, StatsWindow } from '@tocsin/contracts/monitors/stats';
import { refreshEvery } from '../api/query-client.ts';
import { isStatus, request } from '../api/request.ts';
import type { LoadEvents } from './show/tail/event-tail.ts';

const PATH = '/api/dashboard/monitors';

export const monitorsQuery = queryOptions({
  queryKey: ['monitors'],
  queryFn: async ({ signal }) => (await request<{ monitors: Monitor[] }>('GET', PATH, { signal })).monitors,
  // The live stream keeps it up to date.
  staleTime: 5 * 60_000,
});

// oxlint-disable-next-line typescript/explicit-module-boundary-types -- the library infers the answer's type from it
export const monitorQuery = (id: string) =>
  queryOptions({
    queryKey: ['monitor', id],
    queryFn: ({ signal }) =>
      request<{ monitor: Monitor; events: Event[] }>('GET', `${PATH}/${id}`, { signal }),
  });

// oxlint-disable-next-line typescript/explicit-module-boundary-types -- as above
export const monitorStatsQuery = (id: string, window: StatsWindow) =>
  queryOptions({
    queryKey: ['monitor', id, 'stats', window],
    queryFn: async ({ signal }) =>
      (await request<{ stats: MonitorStats }>('GET', `${PATH}/${id}/stats?window=${window}`, { signal }))
        .stats,
  });

export async function createMonitor(input: Partial<MonitorInput>): Promise<Monitor> {
  return (await request<{ monitor: Monitor }>('POST', PATH, { body: input })).monitor;
}

export async function updateMonitor(id: string, update: MonitorUpdate): Promise<Monitor> {
  return (await request<{ monitor: Monitor }>('PUT', `${PATH}/${id}`, { body: update })).monitor;
}

export async function deleteMonitor(id: string): Promise<void> {
  await request('DELETE', `${PATH}/${id}`);
}

/** Checks once, now. @returns the result */
export async function triggerMonitor(id: string): Promise<Event> {
  return (await request<{ event: Event }>('POST', `${PATH}/${id}/trigger`)).event;
}

/** Statistics move with every check: often enough to be believed, seldom enough to be cheap. */
export const STATS_REFRESH = { refetchInterval: refreshEvery(60_000), staleTime: 30_000 } as const;

const API_PATH = '/api/dashboard';
const REFRESH_MS = 30_000;
/** Of what the live stream says nothing of, and what seldom changes. */
const SLOW_REFRESH_MS = 60_000;
export const MOST_INCIDENTS = 20;
const PAGE = LIMITS.eventsPerRequest.max;
const MOST_PAGES = 5;

/** How each region sees the monitor now; null where the api cannot say it. */
// oxlint-disable-next-line typescript/explicit-module-boundary-types -- the library infers the answer's type from it
export const monitorRegionsQuery = (id: string) =>
  queryOptions({
    queryKey: ['monitor', id, 'regions'],
    queryFn: async ({ signal }): Promise<readonly MonitorRegion[] | null> => {
      try {
        const path = `${API_PATH}/monitors/${id}/regions`;
        return (await request<{ regions: MonitorRegion[] }>('GET', path, { signal })).regions;
      } catch (error) {
        if (isStatus(error, 404)) return null;
        throw error;
      }
    },
    refetchInterval: refreshEvery(REFRESH_MS),
  });

/** The latest incidents of one monitor, latest first. */
// oxlint-disable-next-line typescript/explicit-module-boundary-types -- as above
export const monitorIncidentsQuery = (id: string) =>
  queryOptions({
    queryKey: ['incidents', 'of-monitor', id],
    queryFn: async ({ signal }) => {
      const path = `${API_PATH}/incidents?monitorId=${id}&limit=${MOST_INCIDENTS}`;
      return (await request<{ incidents: Incident[] }>('GET', path, { signal })).incidents;
    },
  });

/** Every channel of the account. */
export const allChannelsQuery = queryOptions({
  queryKey: ['channels', 'all'],
  queryFn: async ({ signal }) =>
    (await request<{ channels: Channel[] }>('GET', `${API_PATH}/channels`, { signal })).channels,
  refetchInterval: refreshEvery(SLOW_REFRESH_MS),
});

/** The account's maintenance windows, newest first. */
export const allWindowsQuery = queryOptions({
  queryKey: ['maintenance-windows', 'all'],
  queryFn: async ({ signal }) => {
    const windows: ListedMaintenanceWindow[] = [];
    for (let pages = 0; pages < MOST_PAGES; pages += 1) {
      const last = windows.at(-1);
      const path = `${API_PATH}/maintenance-windows?limit=${PAGE}${last ? `&before=${last.id}` : ''}`;
      const page = await request<{ maintenanceWindows: ListedMaintenanceWindow[] }>('GET', path, { signal });
      windows.push(...page.maintenanceWindows);
      if (page.maintenanceWindows.length < PAGE) break;
    }
    return windows;
  },
  refetchInterval: refreshEvery(SLOW_REFRESH_MS),
});

/** Loads events of one monitor, for its tail. */
export function eventLoader(id: string): LoadEvents {
  return async ({ limit, since }) => {
    const query = since === undefined ? '' : `&since=${encodeURIComponent(since)}`;
    const path = `${API_PATH}/monitors/${id}/events?limit=${limit}${query}`;
    return (await request<{ events: Event[] }>('GET', path)).events;
  };
}

/** @param monitorIds 1 to 200 */
export async function loadRecentChecks(monitorIds: readonly string[]): Promise<RecentChecks[]> {
  const path = `/api/dashboard/monitors/recent-checks?monitorIds=${monitorIds.join(',')}`;
  return (await request<{ recentChecks: RecentChecks[] }>('GET', path)).recentChecks;
}
