import { MutationCache, QueryCache, QueryClient } from '@tanstack/react-query';
import { isStatus } from '../api/api-error.ts';
import { isWorthRetrying, refreshEvery } from '../api/retry.ts';

const MOST_RETRIES = 2;
const STALE_AFTER_MS = 15_000;

/** @param onSignedOut called where an answer says that nobody is signed in (any more) */
export function createQueryClient(onSignedOut: () => void): QueryClient {
  const onError = (error: unknown): void => {
    if (isStatus(error, 401)) onSignedOut();
  };
  return new QueryClient({
    queryCache: new QueryCache({
      onError: (error, query) => query.meta?.['session'] !== true && onError(error),
    }),
    mutationCache: new MutationCache({
      onError: (error, _variables, _result, mutation) =>
        mutation.options.meta?.['session'] !== true && onError(error),
    }),
    defaultOptions: {
      // A browser that calls itself offline may well reach a server of its own network; and what is asked for now must not happen later.
      mutations: { networkMode: 'always' },
      queries: {
        networkMode: 'always',
        staleTime: STALE_AFTER_MS,
        refetchInterval: refreshEvery(false),
        retry: (failures, error) => failures < MOST_RETRIES && isWorthRetrying(error),
      },
    },
  });
}
