import { Badge, Button, Group, PasswordInput, SimpleGrid, Skeleton, Stack, Text } from '@mantine/core';
import { useForm } from '@mantine/form';
import { notifications } from '@mantine/notifications';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { LIMITS } from '@tocsin/contracts/limits';
import type { ReactNode } from 'react';
import { describeError, request } from '../api/request.ts';
import { ErrorNotice, Loaded } from '../components/load-states.tsx';
import { PageHeader, Panel } from '../components/page.tsx';
import { Time } from '../components/time.tsx';
import { browserName, currentSessionQuery, endOtherSessions, endSession, sessionsQuery } from './session.ts';

/** What people manage of themselves. */
export function ProfilePage(): ReactNode {
  return (
    <>
      <PageHeader title="Profile and sessions" />
      <SimpleGrid cols={{ base: 1, md: 2 }}>
        <Sessions />
        <ChangePassword />
      </SimpleGrid>
    </>
  );
}

/** Where one is signed in, and how to end that. */
export function Sessions(): ReactNode {
  const queryClient = useQueryClient();
  const query = useQuery(sessionsQuery);
  const { data: current } = useQuery(currentSessionQuery);
  const end = useMutation({
    mutationFn: (token: string | null) => (token === null ? endOtherSessions() : endSession(token)),
    onSuccess: () => notifications.show({ message: 'Signed out there.' }),
    onError: (failure) => notifications.show({ color: 'red', message: describeError(failure) }),
    onSettled: () => queryClient.invalidateQueries({ queryKey: sessionsQuery.queryKey }),
  });
  const others = query.data?.filter(({ id }) => id !== current?.session.id) ?? [];
  return (
    <Panel
      title="Signed in"
      actions={
        others.length > 0 ? (
          <Button size="xs" variant="default" loading={end.isPending} onClick={() => end.mutate(null)}>
            Sign out everywhere else
          </Button>
        ) : undefined
      }
    >
      <Loaded query={query} pending={<Skeleton h={90} />}>
        {(sessions) => (
          <Stack gap="sm">
            {sessions.map(({ id, token, userAgent, ipAddress, createdAt }) => (
              <Group key={id} justify="space-between" wrap="nowrap">
                <Stack gap={0}>
                  <Group gap="xs">
                    <Text size="sm" fw={600}>
                      {browserName(userAgent)}
                    </Text>
                    {id === current?.session.id && (
                      <Badge size="sm" variant="light">
                        here
                      </Badge>
                    )}
                  </Group>
                  <Text size="xs" c="var(--text-quiet)" component="div">
                    {ipAddress !== null && ipAddress !== undefined && ipAddress !== '' && `${ipAddress} · `}
                    since <Time value={createdAt} />
                  </Text>
                </Stack>
                {id !== current?.session.id && (
                  <Button
                    size="xs"
                    variant="default"
                    onClick={() => end.mutate(token)}
                    aria-label={`Sign out ${browserName(userAgent)}`}
                  >
                    Sign out
                  </Button>
                )}
              </Group>
            ))}
          </Stack>
        )}
      </Loaded>
    </Panel>
  );
}

const { min, max } = LIMITS.passwordCharacters;

export function ChangePassword(): ReactNode {
  const queryClient = useQueryClient();
  const form = useForm({
    initialValues: { currentPassword: '', newPassword: '' },
    validateInputOnChange: ['newPassword'],
    validate: {
      newPassword: (text) =>
        text.length < min || text.length > max ? `must have ${min} to ${max} characters` : null,
    },
  });
  const change = useMutation({
    gcTime: 0,
    mutationFn: (body: typeof form.values) => request('POST', '/api/auth/change-password', { body }),
    onSuccess: async () => {
      form.reset();
      change.reset();
      notifications.show({ message: 'The password is changed; every other session has ended.' });
      await queryClient.invalidateQueries({ queryKey: sessionsQuery.queryKey });
    },
  });
  return (
    <Panel title="Password">
      <form noValidate onSubmit={form.onSubmit((values) => change.mutate(values))}>
        <Stack>
          <Text size="sm" c="var(--text-quiet)">
            Changing it signs you out everywhere else.
          </Text>
          <PasswordInput
            label="Current password"
            autoComplete="current-password"
            required
            {...form.getInputProps('currentPassword')}
          />
          <PasswordInput
            label="New password"
            autoComplete="new-password"
            required
            {...form.getInputProps('newPassword')}
          />
          {change.error && <ErrorNotice error={change.error} />}
          <Group justify="flex-end">
            <Button type="submit" loading={change.isPending}>
              Change the password
            </Button>
          </Group>
        </Stack>
      </form>
    </Panel>
  );
}
