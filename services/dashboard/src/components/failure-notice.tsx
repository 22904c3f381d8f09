import type { ReactNode } from 'react';
import { isWorthRetrying } from '../api/retry.ts';
import { ErrorNotice } from '../app/page-states.tsx';
import { StaleNotice } from './stale-notice.tsx';

export interface FailureNoticeProps {
  readonly query: {
    readonly data: unknown;
    readonly dataUpdatedAt: number;
    readonly refetch: () => Promise<unknown>;
  };
  /** Of `useFailure`. */
  readonly failure: unknown;
}

/** That what is shown is old, or why nothing is; nothing where the query did not fail. */
export function FailureNotice({ query, failure }: FailureNoticeProps): ReactNode {
  if (failure === null) return null;
  const retry = (): void => void query.refetch();
  if (query.data !== undefined)
    return <StaleNotice error={failure} since={query.dataUpdatedAt} retry={retry} />;
  return <ErrorNotice error={failure} retry={retry} retriesByItself={isWorthRetrying(failure)} />;
}
