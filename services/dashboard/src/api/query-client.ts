import { MutationCache, QueryCache, QueryClient } from '@tanstack/react-query';
import { ApiError, isStatus } from './request.ts';

const RETRY_AFTER_MS = 15_000;

/** Whether the same question may be answered a little later: nobody answered, or the server is at fault. */
export function isWorthRetrying(error: unknown): boolean {
  return error instanceof ApiError && (error.status === 0 || error.status >= 500);
}

/**
 * The `refetchInterval` of a query that is asked so often, and sooner after a failure that passes.
 * @param everyMs false: only after such a failure
 */
export function refreshEvery(
  everyMs: number | false,
): (query: { readonly state: { readonly error: unknown } }) => number | false {
  return ({ state: { error } }) => {
    if (!isWorthRetrying(error)) return everyMs;
    return everyMs === false ? RETRY_AFTER_MS : Math.min(RETRY_AFTER_MS, everyMs);
  };
}

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
