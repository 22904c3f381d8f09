import { Button, Center, Stack } from '@mantine/core';
import type { ReactNode } from 'react';
import { ErrorNotice } from '../app/page-states.tsx';

interface LoadMoreProps {
  readonly query: {
    readonly hasNextPage: boolean;
    readonly isFetchingNextPage: boolean;
    readonly isFetchNextPageError: boolean;
    readonly error: unknown;
    readonly fetchNextPage: () => Promise<unknown>;
  };
}

/** The end of a list that comes in pages; nothing where all of it is there. */
export function LoadMore({ query }: LoadMoreProps): ReactNode {
  if (!query.hasNextPage) return null;
  return (
    <Stack mt="md">
      {query.isFetchNextPageError && <ErrorNotice error={query.error} />}
      <Center>
        <Button
          variant="default"
          loading={query.isFetchingNextPage}
          onClick={() => void query.fetchNextPage()}
        >
          Load more
        </Button>
      </Center>
    </Stack>
  );
}
