import type { ReactNode } from 'react';
import { FailureNotice, type FailureNoticeProps } from './failure-notice.tsx';
import { useFailure, type FailingQuery } from './use-failure.ts';

interface LoadedProps<Data> {
  readonly query: FailingQuery & FailureNoticeProps['query'] & { readonly data: Data | undefined };
  /** As tall as what comes. */
  readonly pending: ReactNode;
  readonly children: (data: Data) => ReactNode;
}

/** What was loaded, however old: that it could not be loaded again is said above it. Why, where there is nothing to show. */
export function Loaded<Data>({ query, pending, children }: LoadedProps<Data>): ReactNode {
  const failure = useFailure(query);
  return (
    <>
      <FailureNotice query={query} failure={failure} />
      {query.data === undefined ? failure === null && pending : children(query.data)}
    </>
  );
}
