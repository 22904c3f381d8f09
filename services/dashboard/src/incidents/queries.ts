import { infiniteQueryOptions, queryOptions } from '@tanstack/react-query';
import type { Incident } from '@tocsin/contracts/incidents/incident';
import { request } from '../api/request.ts';

const PATH = '/api/dashboard/incidents';
/** At most so many open ones are shown and counted. */
export const MOST_OPEN = 500;
const PAGE = 50;

export const openIncidentsQuery = queryOptions({
  queryKey: ['incidents', 'open'],
  queryFn: async ({ signal }) =>
    (await request<{ incidents: Incident[] }>('GET', `${PATH}?state=open&limit=${MOST_OPEN}`, { signal }))
      .incidents,
});

/** Those that are over, the latest first. @param monitorId of one monitor only; null: of all */
// oxlint-disable-next-line typescript/explicit-module-boundary-types -- the library infers the answer's type from it
export const pastIncidentsQuery = (monitorId: string | null) =>
  infiniteQueryOptions({
    queryKey: ['incidents', 'resolved', monitorId],
    queryFn: async ({ signal, pageParam }) => {
      const query = new URLSearchParams({ state: 'resolved', limit: String(PAGE) });
      if (monitorId !== null) query.set('monitorId', monitorId);
      if (pageParam !== null) query.set('before', pageParam);
      return (await request<{ incidents: Incident[] }>('GET', `${PATH}?${query}`, { signal })).incidents;
    },
    initialPageParam: null as string | null,
    getNextPageParam: (page) => (page.length < PAGE ? null : page.at(-1)?.id),
  });
