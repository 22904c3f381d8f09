import { infiniteQueryOptions, queryOptions } from '@tanstack/react-query';
import type { Incident } from '@tocsin/contracts/incidents/incident';
import { request } from '../api/request.ts';

const PATH = '/api/dashboard/incidents';
/** At most this many open incidents are shown and counted. */
export const MAX_OPEN_INCIDENTS = 500;
const PAGE_SIZE = 50;

export const openIncidentsQuery = queryOptions({
  queryKey: ['incidents', 'open'],
  queryFn: async ({ signal }) =>
    (
      await request<{ incidents: Incident[] }>('GET', `${PATH}?state=open&limit=${MAX_OPEN_INCIDENTS}`, {
        signal,
      })
    ).incidents,
});

/** Resolved incidents, the latest first. @param monitorId null: of all monitors */
// oxlint-disable-next-line typescript/explicit-module-boundary-types -- the library infers the type of the response from it
export const resolvedIncidentsQuery = (monitorId: string | null) =>
  infiniteQueryOptions({
    queryKey: ['incidents', 'resolved', monitorId],
    queryFn: async ({ signal, pageParam }) => {
      const query = new URLSearchParams({ state: 'resolved', limit: String(PAGE_SIZE) });
      if (monitorId !== null) query.set('monitorId', monitorId);
      if (pageParam !== null) query.set('before', pageParam);
      return (await request<{ incidents: Incident[] }>('GET', `${PATH}?${query}`, { signal })).incidents;
    },
    initialPageParam: null as string | null,
    getNextPageParam: (page) => (page.length < PAGE_SIZE ? null : page.at(-1)?.id),
  });
