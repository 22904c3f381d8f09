import type { Query, QueryClient, QueryFilters } from '@tanstack/react-query';
import { isStatus } from '../api/request.ts';

/** Reloads queries so that what they show was read after the call. The client's own invalidation joins the first fetch of a query. */
export class Reloader {
  readonly #queryClient: QueryClient;
  /** Fetches of these are repeated, because they may have begun too early. */
  readonly #repeated = new Set<Query>();
  readonly #timers = new Map<string, ReturnType<typeof setTimeout>>();
  readonly #unsubscribe: () => void;

  constructor(queryClient: QueryClient) {
    this.#queryClient = queryClient;
    this.#unsubscribe = queryClient.getQueryCache().subscribe(({ type, query }) => {
      if (type === 'removed') this.#repeated.delete(query);
      if (type !== 'updated' || query.state.fetchStatus !== 'idle' || !this.#repeated.delete(query)) return;
      void queryClient.invalidateQueries({ queryKey: query.queryKey, exact: true, predicate: isFound });
    });
  }

  /** Reloads now what is not being fetched, and the rest after its fetch: a canceled response may never arrive during many changes. */
  reload(filters: QueryFilters = {}): void {
    this.repeat(filters);
    const { predicate = () => true } = filters;
    void this.#queryClient.invalidateQueries({
      ...filters,
      fetchStatus: 'idle',
      predicate: (query) => isFound(query) && predicate(query),
    });
  }

  /** Reloads only what is being fetched. */
  repeat(filters: QueryFilters): void {
    for (const query of this.#queryClient.getQueryCache().findAll({ ...filters, fetchStatus: 'fetching' }))
      this.#repeated.add(query);
  }

  /** Reloads after this time, once for all calls with the same key until then. */
  reloadAfter(delayMs: number, queryKey: readonly string[]): void {
    const key = queryKey.join();
    if (this.#timers.has(key)) return;
    const reload = (): void => {
      this.#timers.delete(key);
      this.reload({ queryKey });
    };
    this.#timers.set(key, setTimeout(reload, delayMs));
  }

  stop(): void {
    this.#unsubscribe();
    for (const timer of this.#timers.values()) clearTimeout(timer);
  }
}

/** What is not found stays so. A reload would show a placeholder in place of that message for a moment. */
function isFound({ state }: Query): boolean {
  return !isStatus(state.error, 404);
}
