import type { QueryClient, QueryKey } from '@tanstack/react-query';

/**
 * What asks for these queries again, at most once in so many milliseconds, however often it is called, and never while they are on their
 * way: an answer that takes longer than the next change would never arrive.
 */
export function refreshSoon(
  queryClient: QueryClient,
  queryKey: QueryKey,
  everyMs: number,
): { readonly ask: () => void; readonly stop: () => void } {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const run = (): void => {
    timer = undefined;
    if (queryClient.isFetching({ queryKey }) > 0) ask();
    else void queryClient.invalidateQueries({ queryKey });
  };
  const ask = (): void => {
    timer ??= setTimeout(run, everyMs);
  };
  return { ask, stop: () => clearTimeout(timer) };
}
