import { ApiError } from './api-error.ts';

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
