import type { Incident } from '@tocsin/contracts/incident';
import { queryOptions } from '@tanstack/react-query';
import { request } from '../api/request.ts';

/** At most so many open ones are shown and counted. */
export const MOST_OPEN = 500;

export const openIncidentsQuery = queryOptions({
  queryKey: ['incidents', 'open'],
  queryFn: async ({ signal }) =>
    (
      await request<{ incidents: Incident[] }>(
        'GET',
        `/api/dashboard/incidents?state=open&limit=${MOST_OPEN}`,
        { signal },
      )
    ).incidents,
});
