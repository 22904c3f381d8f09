import type { Query, QueryClient, QueryFilters } from '@tanstack/react-query';
import { isStatus } from '../api/request.ts';

/** Reloads queries with data that is read after the call. The client's own invalidation would join a running first fetch. */
export class Reloader {
  readonly #queryClient: QueryClient;
  /** Queries to fetch again, because their running fetch may have started too early. */
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

  /** Reloads idle queries now, and the others after their fetch. Canceling fetches would starve them during many changes. */
  reload(filters: QueryFilters = {}): void {
    this.repeat(filters);
    const { predicate = () => true } = filters;
    void this.#queryClient.invalidateQueries({
      ...filters,
      fetchStatus: 'idle',
      predicate: (query) => isFound(query) && predicate(query),
    });
  }

  /** Reloads only queries that are being fetched, after their fetch. */
  repeat(filters: QueryFilters): void {
    for (const query of this.#queryClient.getQueryCache().findAll({ ...filters, fetchStatus: 'fetching' }))
      this.#repeated.add(query);
  }

  /** Reloads after a delay, once for all calls with the same key. */
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

/** A reload of a missing resource would briefly replace the message with a placeholder. */
function isFound({ state }: Query): boolean {
  return !isStatus(state.error, 404);
}
