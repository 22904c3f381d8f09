import { type QueryClient, type QueryKey, type QueryState } from '@tanstack/react-query';

/**
 * Options of a query for a list that the live stream adds to. `dataUpdatedAt` is 0 until the list is loaded.
 * @param merge returns `known` itself if nothing is new
 */
export function liveList<Item>(merge: (known: readonly Item[], added: readonly Item[]) => readonly Item[]): {
  readonly staleTime: (query: { readonly state: Pick<QueryState, 'dataUpdatedAt'> }) => number;
  readonly structuralSharing: (known: unknown, added: unknown) => unknown;
} {
  return {
    staleTime: ({ state }) => (state.dataUpdatedAt === 0 ? 0 : Infinity),
    // A response must not remove what the stream delivered during the request.
    structuralSharing: (known = [], added) => merge(known as readonly Item[], added as readonly Item[]),
  };
}

/** Adds live records to a list that is loaded or loading. */
export function addToList(queryClient: QueryClient, queryKey: QueryKey, added: readonly unknown[]): void {
  const state = queryClient.getQueryState(queryKey);
  if (state === undefined) return;
  queryClient.setQueryData(queryKey, added, { updatedAt: state.dataUpdatedAt });
  // Setting the data clears the invalidation.
  if (state.isInvalidated) void queryClient.invalidateQueries({ queryKey }, { cancelRefetch: false });
}
