import { Alert, Button, Center, Code, Group, Loader, Stack, Text, Title } from '@mantine/core';
import { IconAlertTriangle } from '@tabler/icons-react';
import { Link, useRouter } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { ApiError, describeError } from '../api/api-error.ts';

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
