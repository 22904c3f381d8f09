import { queryOptions } from '@tanstack/react-query';
import type { Channel } from '@tocsin/contracts/channels/channel';
import type { Incident } from '@tocsin/contracts/incidents/incident';
import { LIMITS } from '@tocsin/contracts/limits';
import type { ListedMaintenanceWindow } from '@tocsin/contracts/maintenance-windows/maintenance-window';
import type { Event, MonitorRegion } from '@tocsin/contracts/monitors/events';
import { isStatus } from '../../api/api-error.ts';
import { request } from '../../api/request.ts';
import { refreshEvery } from '../../api/retry.ts';
import type { LoadEvents } from './tail/event-tail.ts';

const PATH = '/api/dashboard';
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
        const path = `${PATH}/monitors/${id}/regions`;
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
      const path = `${PATH}/incidents?monitorId=${id}&limit=${MOST_INCIDENTS}`;
      return (await request<{ incidents: Incident[] }>('GET', path, { signal })).incidents;
    },
  });

/** Every channel of the account. */
export const allChannelsQuery = queryOptions({
  queryKey: ['channels', 'all'],
  queryFn: async ({ signal }) =>
    (await request<{ channels: Channel[] }>('GET', `${PATH}/channels`, { signal })).channels,
  refetchInterval: refreshEvery(SLOW_REFRESH_MS),
});

/** The account's maintenance windows, newest first. */
export const allWindowsQuery = queryOptions({
  queryKey: ['maintenance-windows', 'all'],
  queryFn: async ({ signal }) => {
    const windows: ListedMaintenanceWindow[] = [];
    for (let pages = 0; pages < MOST_PAGES; pages += 1) {
      const last = windows.at(-1);
      const path = `${PATH}/maintenance-windows?limit=${PAGE}${last ? `&before=${last.id}` : ''}`;
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
    const path = `${PATH}/monitors/${id}/events?limit=${limit}${query}`;
    return (await request<{ events: Event[] }>('GET', path)).events;
  };
}
