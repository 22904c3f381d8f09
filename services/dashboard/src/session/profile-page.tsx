import { Box, PasswordInput, Stack, Text } from '@mantine/core';
import { notifications } from '@mantine/notifications';
import { IconLogout } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { signInRoutes } from '@tocsin/contracts/identity/routes';
import type { ReactNode } from 'react';
import { useRefresh } from '../api/mutations.ts';
import { api } from '../api/request.ts';
import { ActionButton } from '../components/buttons.tsx';
import { bodyErrors, useApiForm } from '../components/form.ts';
import { Loaded, Placeholder } from '../components/load-states.tsx';
import { DataTable } from '../components/data-table.tsx';
import { PageHeader, Panel } from '../components/page.tsx';
import { SaveForm } from '../components/save-form.tsx';
import { Quiet, Time } from '../components/text.tsx';
import { NotificationSettings } from '../notifications/notification-settings.tsx';
import { accountSlug } from './account-in-path.ts';
import { browserName, currentSessionQuery, sessionsQuery } from './session.ts';

export function ProfilePage(): ReactNode {
  return (
    <>
      <PageHeader title="Profile and sessions" />
      <Stack>
        <Sessions />
        {accountSlug() !== null && (
          <Box maw={480}>
            <NotificationSettings />
          </Box>
        )}
        <Box maw={480}>
          <ChangePassword />
        </Box>
      </Stack>
    </>
  );
}

function Sessions(): ReactNode {
  const refresh = useRefresh();
  const query = useQuery(sessionsQuery);
  const currentId = useQuery(currentSessionQuery).data?.session.id;
  const end = async (request: Promise<unknown>, message: string): Promise<void> => {
    try {
      await request;
      notifications.show({ message });
    } finally {
      await refresh(sessionsQuery);
    }
  };
  const endOthers = (): Promise<void> =>
    end(api('POST /api/auth/revoke-other-sessions'), 'All other sessions have ended.');
  return (
    <Panel
      title="Sessions"
      actions={
        query.data?.some(({ id }) => id !== currentId) && (
          <ActionButton size="xs" icon={IconLogout} action={endOthers}>
            Sign out all other sessions
          </ActionButton>
        )
      }
    >
      <Loaded query={query} pending={<Placeholder heights={[90]} />}>
        {(sessions) => (
          <DataTable
            label="Sessions"
            rows={sessions}
            rowKey={({ id }) => id}
            columns={{
              Browser: ({ userAgent }) => browserName(userAgent),
              'IP address': ({ ipAddress }) => ipAddress || '–',
              'Signed in': ({ createdAt }) => <Time value={createdAt} />,
              Actions: ({ id, token, userAgent }) =>
                id === currentId ? (
                  <Text size="sm">This session</Text>
                ) : (
                  <ActionButton
                    size="xs"
                    icon={IconLogout}
                    action={() =>
                      end(api('POST /api/auth/revoke-session', { body: { token } }), 'Session ended.')
                    }
                    aria-label={`Sign out ${browserName(userAgent)}`}
                  >
                    Sign out
                  </ActionButton>
                ),
            }}
          />
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
