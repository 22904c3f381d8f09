/* oxlint-disable typescript/explicit-module-boundary-types -- the library infers the types of the data */
import { queryOptions, skipToken } from '@tanstack/react-query';
import { pagedQuery } from '../api/paged-query.ts';
import { refreshEvery } from '../api/query-client.ts';
import { api } from '../api/request.ts';

/** At most this many open incidents are shown. */
export const MAX_OPEN_INCIDENTS = 500;

export const openIncidentsQuery = queryOptions({
  queryKey: ['incidents', 'open'],
  queryFn: async ({ signal }) => {
    const query = { state: 'open', limit: String(MAX_OPEN_INCIDENTS) } as const;
    return (await api('GET /api/dashboard/incidents', { query, signal })).incidents;
  },
});

/** Resolved incidents, latest first. @param monitorId null for all monitors */
export const resolvedIncidentsQuery = (monitorId: string | null) =>
  pagedQuery(['incidents', 'resolved', monitorId], async ({ signal, ...page }) => {
    const query = { state: 'resolved', monitorId: monitorId ?? undefined, ...page } as const;
    return (await api('GET /api/dashboard/incidents', { query, signal })).incidents;
  });

export const incidentQuery = (id: string) =>
  queryOptions({
    queryKey: ['incidents', 'one', id],
    queryFn: async ({ signal }) => (await api('GET /api/dashboard/incidents/:id', { id, signal })).incident,
  });

/** The live stream does not deliver changes of deliveries. */
const REFRESH_TIMELINE_MS = 15_000;

/** Events around an incident. @param id null if there is no incident */
export const timelineQuery = (id: string | null) =>
  queryOptions({
    queryKey: ['incidents', 'timeline', id],
    queryFn:
      id === null
        ? skipToken
        : ({ signal }) => api('GET /api/dashboard/incidents/:id/timeline', { id, signal }),
    refetchInterval: refreshEvery(REFRESH_TIMELINE_MS),
  });
