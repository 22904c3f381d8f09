import { Alert, Button, Center, Code, Group, Loader, Stack, Text, Title } from '@mantine/core';
import { IconAlertTriangle, IconCloudOff } from '@tabler/icons-react';
import { Link, useRouter } from '@tanstack/react-router';
import { useState } from 'react';
import type { ReactNode } from 'react';
import { isWorthRetrying } from '../api/query-client.ts';
import { ApiError, describeError } from '../api/request.ts';
import { Time } from './time.tsx';

/** Shown where a page takes longer than a moment to load. */
export function PendingPage(): ReactNode {
  return (
    <Center mih={240}>
      <Loader aria-label="Loading" />
    </Center>
  );
}

/** Shown where a page cannot be shown at all: what happened, and what to do. */
export function ErrorPage({ error }: { readonly error: unknown }): ReactNode {
  const router = useRouter();
  return (
    <Stack maw={640} mx="auto" p="md">
      <ErrorNotice error={error} />
      <Group>
        <Button onClick={() => void router.invalidate()}>Try again</Button>
        <Button component={Link} to="/" variant="default">
          All monitors
        </Button>
      </Group>
    </Stack>
  );
}

interface ErrorNoticeProps {
  readonly error: unknown;
  readonly retry?: () => void;
  /** The page does it, too, without being asked. */
  readonly retriesByItself?: boolean;
}

/** An error in place of what it kept from being shown. */
export function ErrorNotice({ error, retry, retriesByItself = false }: ErrorNoticeProps): ReactNode {
  const requestId = error instanceof ApiError ? error.requestId : null;
  return (
    <Alert
      color="red"
      variant="light"
      icon={<IconAlertTriangle aria-hidden />}
      title={error instanceof ApiError ? error.title : 'Something went wrong'}
      role="alert"
    >
      <Stack gap="xs" align="flex-start">
        <Text size="sm">
          {describeError(error)}
          {retriesByItself && ' This page tries again by itself.'}
        </Text>
        {requestId !== null && (
          <Text size="xs" c="var(--text-quiet)">
            Request <Code>{requestId}</Code>: the log of the api says more.
          </Text>
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

export function NotFoundPage(): ReactNode {
  return (
    <Stack align="center" p="xl" gap="sm">
      <Title order={1}>Not here</Title>
      <Text c="var(--text-quiet)" ta="center">
        There is no such page, or it belongs to another account.
      </Text>
      <Button component={Link} to="/">
        All monitors
      </Button>
    </Stack>
  );
}

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

interface StaleNoticeProps {
  readonly error: unknown;
  /** When what is shown was loaded, epoch milliseconds. */
  readonly since: number;
  readonly retry: () => void;
}

/** Above what is shown as it was, since it could not be loaded again. */
export function StaleNotice({ error, since, retry }: StaleNoticeProps): ReactNode {
  return (
    <Group gap={6} mb="xs" role="status">
      <IconCloudOff size={16} aria-hidden />
      <Text size="xs" c="var(--text-quiet)" component="span">
        As of <Time value={new Date(since).toISOString()} as="clock" />: it could not be refreshed
        {isWorthRetrying(error) ? ', trying again.' : `. ${describeError(error)}`}
      </Text>
      {!isWorthRetrying(error) && (
        <Button size="compact-xs" variant="subtle" onClick={retry}>
          Try again
        </Button>
      )}
    </Group>
  );
}

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
