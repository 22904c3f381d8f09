import { Badge, Button, Group, PasswordInput, SimpleGrid, Skeleton, Stack, Text } from '@mantine/core';
import { notifications } from '@mantine/notifications';
import { useMutation, useQuery } from '@tanstack/react-query';
import { signInRoutes } from '@tocsin/contracts/identity/routes';
import type { ReactNode } from 'react';
import { showError, useRefresh } from '../api/mutations.ts';
import { api } from '../api/request.ts';
import { bodyErrors, useApiForm } from '../components/form.ts';
import { Loaded } from '../components/load-states.tsx';
import { PageHeader, Panel } from '../components/page.tsx';
import { SaveForm } from '../components/save-form.tsx';
import { Quiet, Time } from '../components/text.tsx';
import { browserName, currentSessionQuery, sessionsQuery } from './session.ts';

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
  const refresh = useRefresh();
  const query = useQuery(sessionsQuery);
  const currentId = useQuery(currentSessionQuery).data?.session.id;
  const { mutate, isPending } = useMutation({
    /** @param token of the session to end, or null for every other session */
    mutationFn: (token: string | null) =>
      token === null
        ? api('POST /api/auth/revoke-other-sessions')
        : api('POST /api/auth/revoke-session', { body: { token } }),
    onSuccess: () => notifications.show({ message: 'Session ended' }),
    onError: showError,
    onSettled: () => refresh(sessionsQuery),
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
  const refresh = useRefresh();
  const form = useApiForm({
    initialValues: { currentPassword: '', newPassword: '' },
    validate: (values) => bodyErrors(signInRoutes.changePassword.body, values),
  });
  const save = async (body: typeof form.values): Promise<void> => {
    await api('POST /api/auth/change-password', { body });
    form.reset();
    notifications.show({ message: 'Password changed. All other sessions have ended.' });
    await refresh(sessionsQuery);
  };
  return (
    <Panel title="Password">
      <SaveForm form={form} action="Change password" save={save} layout="dialog">
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
      </SaveForm>
    </Panel>
  );
}
