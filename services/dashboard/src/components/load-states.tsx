import { Alert, Box, Button, Center, Code, Group, Loader, Skeleton, Stack, Text } from '@mantine/core';
import { IconAlertTriangle, IconCloudOff } from '@tabler/icons-react';
import type { QueryObserverBaseResult, UseInfiniteQueryResult } from '@tanstack/react-query';
import { useRouter } from '@tanstack/react-router';
import { createContext, type ReactNode, use, useState } from 'react';
import { isWorthRetrying } from '../api/query-client.ts';
import { ApiError, describeError } from '../api/request.ts';
import { LinkButton } from './buttons.tsx';
import { PageLoadError, PageLoadFailure } from './page-load.tsx';
import { PageHeader } from './page.tsx';
import { Quiet, TextLink, Time } from './text.tsx';

/** Shown if a page takes more than a moment to load. */
export function PendingPage(): ReactNode {
  return (
    <Center mih={240}>
      <Loader aria-label="Loading" />
    </Center>
  );
}

/** True inside the shell, which has the landmarks. */
export const InShell = createContext(false);

/** Landmarks of a page that may be shown without the shell. */
function Landmarks({ children }: { readonly children: ReactNode }): ReactNode {
  if (use(InShell)) return children;
  return (
    <>
      <Box component="header" p="md">
        <TextLink to="/">Tocsin</TextLink>
      </Box>
      <Box component="main" p="md">
        {children}
      </Box>
    </>
  );
}

export function ErrorPage({ error }: { readonly error: unknown }): ReactNode {
  const router = useRouter();
  return (
    <Landmarks>
      <PageHeader title="This page could not be opened" />
      <Stack maw={640} align="flex-start">
        {error instanceof PageLoadError ? (
          <PageLoadFailure />
        ) : (
          <>
            <ErrorNotice error={error} />
            <Group>
              <Button onClick={() => void router.invalidate()}>Try again</Button>
              <LinkButton to="/">All monitors</LinkButton>
            </Group>
          </>
        )}
      </Stack>
    </Landmarks>
  );
}

export function NotFoundPage(): ReactNode {
  return (
    <Landmarks>
      <PageHeader title="Not found" hint="This page does not exist, or it belongs to another account." />
      <LinkButton variant="filled" to="/">
        All monitors
      </LinkButton>
    </Landmarks>
  );
}

/** Shown to viewers instead of a form. */
export function ViewOnlyPage(): ReactNode {
  return (
    <>
      <PageHeader title="View only" hint="Viewers have read-only access. Ask an owner to change your role." />
      <LinkButton variant="filled" to="/">
        All monitors
      </LinkButton>
    </>
  );
}

interface ErrorNoticeProps {
  readonly error: unknown;
  readonly retry?: () => void;
  readonly retriesAutomatically?: boolean;
}

/** An error, shown instead of the missing content. */
export function ErrorNotice({ error, retry, retriesAutomatically = false }: ErrorNoticeProps): ReactNode {
  const isApiError = error instanceof ApiError;
  return (
    <Alert
      color="red"
      icon={<IconAlertTriangle aria-hidden />}
      title={isApiError ? error.title : 'Something went wrong'}
      role="alert"
    >
      <Stack gap="xs" align="flex-start">
        <Text size="sm">
          {describeError(error)}
          {retriesAutomatically && ' Retrying automatically.'}
        </Text>
        {isApiError && error.requestId !== null && (
          <Quiet size="xs">
            Request ID: <Code>{error.requestId}</Code>
          </Quiet>
        )}
        {retry && (
          <Button size="xs" variant="default" onClick={retry}>
            Try again
          </Button>
        )}
      </Stack>
    </Alert>
  );
}

/** Fields of a query result that tell failures from missing data. */
interface FallibleQuery extends Pick<
  QueryObserverBaseResult<unknown, unknown>,
  'data' | 'dataUpdatedAt' | 'error' | 'isFetching' | 'refetch'
> {
  /** Set for paged lists, in which loaded pages stay valid. */
  readonly isFetchNextPageError?: boolean;
}

/**
 * The error of a query's last attempt, or null. The error remains during the next attempt. Without data, the library would clear it and the
 * page would flicker.
 */
export function useFailure({ data, error, isFetching, isFetchNextPageError }: FallibleQuery): unknown {
  const [last, setLast] = useState<unknown>(null);
  const current = isFetchNextPageError === true ? null : error;
  const failure = current ?? (data === undefined && isFetching ? last : null);
  if (failure !== last) setLast(failure);
  return failure;
}

/** Says that the data of a query is stale, or why there is none. Renders nothing if the query did not fail. */
export function FailureNotice({ query }: { readonly query: FallibleQuery }): ReactNode {
  const error = useFailure(query);
  if (error === null) return null;
  const retry = (): void => void query.refetch();
  const retries = isWorthRetrying(error);
  if (query.data === undefined)
    return <ErrorNotice error={error} retry={retry} retriesAutomatically={retries} />;
  return (
    <Group gap="2xs" mb="xs" role="status">
      <IconCloudOff size={16} aria-hidden />
      <Quiet size="xs" inline>
        As of <Time value={new Date(query.dataUpdatedAt).toISOString()} as="clock" />: refresh failed
        {retries ? ', retrying.' : `. ${describeError(error)}`}
      </Quiet>
      {!retries && (
        <Button size="compact-xs" variant="subtle" onClick={retry}>
          Try again
        </Button>
      )}
    </Group>
  );
}

interface LoadedProps<Data> {
  readonly query: FallibleQuery & { readonly data: Data | undefined };
  /** Shown while the data loads. Should be as tall as the content. */
  readonly pending: ReactNode;
  readonly empty?: ReactNode;
  readonly children: (data: Data) => ReactNode;
}

/** The data of a query. Data that could not be refreshed stays visible, with a notice above it. */
export function Loaded<Data>({ query, pending, empty, children }: LoadedProps<Data>): ReactNode {
  const { data } = query;
  const failure = useFailure(query);
  const isEmpty = empty !== undefined && Array.isArray(data) && data.length === 0;
  return (
    <>
      <FailureNotice query={query} />
      {data === undefined ? failure === null && pending : isEmpty ? empty : children(data)}
    </>
  );
}

interface LoadMoreProps {
  readonly query: Pick<
    UseInfiniteQueryResult,
    'hasNextPage' | 'isFetchingNextPage' | 'isFetchNextPageError' | 'error' | 'fetchNextPage'
  >;
}

/** Loads the next page of a list. Renders nothing on the last page. */
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

/** Skeletons as tall as the content, so that the page does not jump. @param heights in pixels, without duplicates */
export function Placeholder({ heights }: { readonly heights: readonly number[] }): ReactNode {
  return (
    <Stack>
      {heights.map((height) => (
        <Skeleton key={height} h={height} />
      ))}
    </Stack>
  );
}
