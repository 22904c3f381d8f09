/* oxlint-disable typescript/explicit-module-boundary-types -- the library infers the types of the data */
import { keepPreviousData, queryOptions } from '@tanstack/react-query';
import { api } from '../api/request.ts';
import { type FullSearch, toInstants } from './report-period.ts';

export const availabilityQuery = ({ from, to, zone, groupBy, selector = '', maintenance }: FullSearch) => {
  const query = {
    ...toInstants({ from, to }, zone),
    groupBy: groupBy ?? 'monitor',
    selector,
    maintenance: maintenance ?? 'excluded',
  } as const;
  return queryOptions({
    queryKey: ['reports', 'availability', query],
    queryFn: async ({ signal }) =>
      (await api('GET /api/dashboard/reports/availability', { query, signal })).report,
    placeholderData: keepPreviousData,
    // Reports are expensive and describe a fixed period, so the live stream must not reload them.
    staleTime: 'static',
    gcTime: 60_000,
  });
};
