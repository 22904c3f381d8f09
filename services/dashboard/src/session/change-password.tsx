import { Button, Group, PasswordInput, Stack, Text } from '@mantine/core';
import { useForm } from '@mantine/form';
import { notifications } from '@mantine/notifications';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { LIMITS } from '@tocsin/contracts/limits';
import type { ReactNode } from 'react';
import { request } from '../api/request.ts';
import { ErrorNotice } from '../app/page-states.tsx';
import { Panel } from '../components/panel.tsx';
import { sessionsQuery } from './sessions-query.ts';

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
