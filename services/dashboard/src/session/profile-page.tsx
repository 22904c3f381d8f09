import { Badge, Button, Group, PasswordInput, SimpleGrid, Skeleton, Stack, Text } from '@mantine/core';
import { useForm } from '@mantine/form';
import { notifications } from '@mantine/notifications';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { LIMITS } from '@tocsin/contracts/limits';
import type { ReactNode } from 'react';
import { api, describeError } from '../api/request.ts';
import { ErrorNotice, Loaded } from '../components/load-states.tsx';
import { PageHeader, Panel } from '../components/page.tsx';
import { Quiet, Time } from '../components/text.tsx';
import { browserName, currentSessionQuery, sessionsQuery } from './session.ts';

const { min, max } = LIMITS.passwordCharacters;

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

function Sessions(): ReactNode {
  const queryClient = useQueryClient();
  const query = useQuery(sessionsQuery);
  const currentId = useQuery(currentSessionQuery).data?.session.id;
  const { mutate, isPending } = useMutation({
    /** @param token of the session to end, or null for every other session */
    mutationFn: (token: string | null) =>
      token === null
        ? api('POST /api/auth/revoke-other-sessions')
        : api('POST /api/auth/revoke-session', { body: { token } }),
    onSuccess: () => notifications.show({ message: 'Session ended' }),
    onError: (error) => notifications.show({ color: 'red', message: describeError(error) }),
    onSettled: () => queryClient.invalidateQueries({ queryKey: sessionsQuery.queryKey }),
  });
  return (
    <Panel
      title="Sessions"
      actions={
        query.data?.some(({ id }) => id !== currentId) && (
          <Button size="xs" variant="default" loading={isPending} onClick={() => mutate(null)}>
            Sign out all other sessions
          </Button>
        )
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
                    {id === currentId && (
                      <Badge size="sm" variant="light">
                        This session
                      </Badge>
                    )}
                  </Group>
                  <Quiet size="xs">
                    {ipAddress ? `${ipAddress} · ` : ''}
                    since <Time value={createdAt} />
                  </Quiet>
                </Stack>
                {id !== currentId && (
                  <Button
                    size="xs"
                    variant="default"
                    onClick={() => mutate(token)}
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

function ChangePassword(): ReactNode {
  const queryClient = useQueryClient();
  const form = useForm({
    initialValues: { currentPassword: '', newPassword: '' },
    validateInputOnChange: ['newPassword'],
    validate: {
      newPassword: ({ length }) =>
        length < min || length > max ? `must have ${min} to ${max} characters` : null,
    },
  });
  const { mutate, error, isPending, reset } = useMutation({
    gcTime: 0,
    mutationFn: (body: typeof form.values) => api('POST /api/auth/change-password', { body }),
    onSuccess: async () => {
      form.reset();
      reset();
      notifications.show({ message: 'Password changed. All other sessions have ended.' });
      await queryClient.invalidateQueries({ queryKey: sessionsQuery.queryKey });
    },
  });
  return (
    <Panel title="Password">
      <form noValidate onSubmit={form.onSubmit((values) => mutate(values))}>
        <Stack>
          <Quiet>Changing the password ends all other sessions.</Quiet>
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
          {error && <ErrorNotice error={error} />}
          <Group justify="flex-end">
            <Button type="submit" loading={isPending}>
              Change password
            </Button>
          </Group>
        </Stack>
      </form>
    </Panel>
  );
}
