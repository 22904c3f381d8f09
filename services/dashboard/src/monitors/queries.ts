import { queryOptions } from '@tanstack/react-query';
import type { Event } from '@tocsin/contracts/monitors/events';
import type { Monitor, MonitorInput, MonitorUpdate } from '@tocsin/contracts/monitors/monitor';
import type { MonitorStats, StatsWindow } from '@tocsin/contracts/monitors/stats';
import { request } from '../api/request.ts';

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
