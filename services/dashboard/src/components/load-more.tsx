import { Button, Center } from '@mantine/core';
import type { ReactNode } from 'react';

interface LoadMoreProps {
  readonly query: {
    readonly hasNextPage: boolean;
    readonly isFetchingNextPage: boolean;
    readonly fetchNextPage: () => Promise<unknown>;
  };
}

/** The end of a list that comes in pages; nothing where all of it is there. */
export function LoadMore({ query }: LoadMoreProps): ReactNode {
  if (!query.hasNextPage) return null;
  return (
    <Center mt="md">
      <Button variant="default" loading={query.isFetchingNextPage} onClick={() => void query.fetchNextPage()}>
        Load more
      </Button>
    </Center>
  );
}
