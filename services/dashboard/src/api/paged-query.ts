/* oxlint-disable typescript/explicit-module-boundary-types -- the library infers the type of the data */
import { infiniteQueryOptions, type QueryKey } from '@tanstack/react-query';

const PAGE_SIZE = 50;

interface PageRequest {
  readonly signal: AbortSignal;
  readonly limit: string;
  /** ID of the last item on the previous page. */
  readonly before: string | undefined;
}

/** A list that loads page by page, latest items first. */
export const pagedQuery = <Item extends { readonly id: string }, const Key extends QueryKey>(
  queryKey: Key,
  load: (request: PageRequest) => Promise<Item[]>,
) =>
  infiniteQueryOptions({
    queryKey,
    queryFn: ({ signal, pageParam: before }) => load({ signal, limit: String(PAGE_SIZE), before }),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (page) => (page.length < PAGE_SIZE ? undefined : page.at(-1)?.id),
    select: ({ pages }) => pages.flat(),
  });
