import type { DataTag, QueryClient, QueryKey, QueryState } from '@tanstack/react-query';

/**
 * Query options of a list that the live stream adds to. `dataUpdatedAt` is 0 until the list is loaded.
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

/** Changes cached data, if there is any. The data keeps its age, because the stream does not deliver everything. */
export function updateCached<Data>(
  queryClient: QueryClient,
  queryKey: DataTag<QueryKey, Data, Error>,
  update: (data: Data) => Data,
): void {
  const state = queryClient.getQueryState<Data>(queryKey);
  if (state?.data === undefined) return;
  queryClient.setQueryData<Data>(queryKey, update(state.data), { updatedAt: state.dataUpdatedAt });
  // Setting the data clears the invalidation.
  if (state.isInvalidated) void queryClient.invalidateQueries({ queryKey, exact: true, refetchType: 'none' });
}

/** Adds live records to a list that is loaded or loading. */
export function addToList(queryClient: QueryClient, queryKey: QueryKey, added: readonly unknown[]): void {
  const state = queryClient.getQueryState(queryKey);
  if (state === undefined) return;
  queryClient.setQueryData(queryKey, added, { updatedAt: state.dataUpdatedAt });
  // Setting the data clears the invalidation.
  if (state.isInvalidated) void queryClient.invalidateQueries({ queryKey }, { cancelRefetch: false });
}
