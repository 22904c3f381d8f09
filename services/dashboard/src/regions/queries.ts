import type { Region } from '@tocsin/contracts/region';
import { queryOptions } from '@tanstack/react-query';
import { request } from '../api/request.ts';

/** The api's numbers are at most as old as this. */
const REFRESH_EVERY_MS = 5_000;

export const regionsQuery = queryOptions({
  queryKey: ['regions'],
  queryFn: async ({ signal }) =>
    (await request<{ regions: Region[] }>('GET', '/api/dashboard/regions', { signal })).regions,
  refetchInterval: REFRESH_EVERY_MS,
});
