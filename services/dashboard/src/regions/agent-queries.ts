/* oxlint-disable typescript/explicit-module-boundary-types -- the library infers the type of the data */
import { queryOptions } from '@tanstack/react-query';
import { refreshEvery } from '../api/query-client.ts';
import { api } from '../api/request.ts';
import { REFRESH_EVERY_MS, regionsQuery } from './regions.ts';

/** API that manages an agent region. Operators manage shared regions. */
export type RegionScope = 'dashboard' | 'operator';

const sharedRegionsQuery = queryOptions({
  queryKey: ['operator', 'regions'],
  queryFn: async ({ signal }) => (await api('GET /api/operator/regions', { signal })).regions,
  refetchInterval: REFRESH_EVERY_MS,
});

export const REGION_QUERIES = { dashboard: regionsQuery, operator: sharedRegionsQuery };

export const agentTokensQuery = (scope: RegionScope, code: string) =>
  queryOptions({
    queryKey: ['agent-tokens', scope, code],
    queryFn: async ({ signal }) => {
      const endpoint = `GET /api/${scope}/regions/:code/agent-tokens` as const;
      return (await api(endpoint, { path: { code }, signal })).agentTokens;
    },
    // `lastUsedAt` changes within seconds.
    refetchInterval: (query) =>
      refreshEvery(query.state.data === undefined ? false : REFRESH_EVERY_MS)(query),
  });
