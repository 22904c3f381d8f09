import { useState } from 'react';

/** What a query answers, as far as its failing goes. */
export interface FailingQuery {
  readonly data: unknown;
  readonly error: unknown;
  readonly isFetching: boolean;
  /** Of lists that come in pages: what they have is as fresh as before. */
  readonly isFetchNextPageError?: boolean;
}

/**
 * Why a query failed the last time; null where it did not. While it is tried again, too, though the library forgets it then where there is
 * nothing to show: the page would flicker.
 */
export function useFailure({ data, error, isFetching, isFetchNextPageError = false }: FailingQuery): unknown {
  const [last, setLast] = useState<unknown>(null);
  const known = isFetchNextPageError ? null : error;
  const failure = known ?? (data === undefined && isFetching ? last : null);
  if (failure !== last) setLast(failure);
  return failure;
}
