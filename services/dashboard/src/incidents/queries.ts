/* oxlint-disable typescript/explicit-module-boundary-types -- the library infers the types of the data */
import { infiniteQueryOptions, queryOptions, skipToken } from '@tanstack/react-query';
import { refreshEvery } from '../api/query-client.ts';
import { api } from '../api/request.ts';

/** At most this many open incidents are shown. */
export const MAX_OPEN_INCIDENTS = 500;
const PAGE_SIZE = 50;

export const openIncidentsQuery = queryOptions({
  queryKey: ['incidents', 'open'],
  queryFn: async ({ signal }) => {
    const query = { state: 'open', limit: String(MAX_OPEN_INCIDENTS) } as const;
    return (await api('GET /api/dashboard/incidents', { query, signal })).incidents;
  },
});

/** Resolved incidents, latest first. @param monitorId null for all monitors */
export const resolvedIncidentsQuery = (monitorId: string | null) =>
  infiniteQueryOptions({
    queryKey: ['incidents', 'resolved', monitorId],
    queryFn: async ({ signal, pageParam: before }) => {
      const limit = String(PAGE_SIZE);
      const query = { state: 'resolved', limit, monitorId: monitorId ?? undefined, before } as const;
      return (await api('GET /api/dashboard/incidents', { query, signal })).incidents;
    },
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (page) => (page.length < PAGE_SIZE ? undefined : page.at(-1)?.id),
    select: ({ pages }) => pages.flat(),
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
