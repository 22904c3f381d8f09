import { MutationCache, QueryCache, QueryClient } from '@tanstack/react-query';
import { ApiError, isStatus } from './request.ts';

const RETRY_AFTER_MS = 15_000;

/** True if there was no response or the server failed, so that the same request may succeed later. */
export function isWorthRetrying(error: unknown): boolean {
  return error instanceof ApiError && (error.status === 0 || error.status >= 500);
}

/**
 * Returns a `refetchInterval` that is shorter after a failure that is worth retrying.
 * @param everyMs false to refetch only after such a failure
 */
export function refreshEvery(
  everyMs: number | false,
): (query: { readonly state: { readonly error: unknown } }) => number | false {
  return ({ state: { error } }) => {
    if (!isWorthRetrying(error)) return everyMs;
    return everyMs === false ? RETRY_AFTER_MS : Math.min(RETRY_AFTER_MS, everyMs);
  };
}

const MAX_RETRIES = 2;
const STALE_AFTER_MS = 15_000;

/** @param onSignedOut called after a 401, except for queries and mutations with `meta: { session: true }` */
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
      // An offline browser may still reach a server in its own network, and a paused mutation must not be sent later.
      mutations: { networkMode: 'always' },
      queries: {
        networkMode: 'always',
        staleTime: STALE_AFTER_MS,
        refetchInterval: refreshEvery(false),
        retry: (failures, error) => failures < MAX_RETRIES && isWorthRetrying(error),
      },
    },
  });
}
