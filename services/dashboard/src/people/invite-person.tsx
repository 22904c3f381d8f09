import { Button, Group, Modal, Radio, Stack, Text, TextInput } from '@mantine/core';
import { createInvitationSchema } from '@tocsin/contracts/user';
import type { UserRole } from '@tocsin/contracts/vocabulary';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { ErrorNotice } from '../app/page-states.tsx';
import { CodeBlock } from '../components/code-block.tsx';
import { useApiForm } from '../components/use-api-form.ts';
import { invitationsQuery, invite, type NewInvitation } from './queries.ts';

interface InvitePersonProps {
  readonly opened: boolean;
  readonly onClose: () => void;
}

/** Makes an invitation, then shows its link for the only time. */
export function InvitePerson({ opened, onClose }: InvitePersonProps): ReactNode {
  const queryClient = useQueryClient();
  const make = useMutation({
    mutationFn: invite,
    // What it answers is nowhere once the dialog is closed.
    gcTime: 0,
    onSuccess: () => queryClient.invalidateQueries({ queryKey: invitationsQuery.queryKey }),
  });
  const form = useApiForm({
    schema: createInvitationSchema,
    initialValues: { email: '', role: 'member' },
    toBody,
  });
  const close = (): void => {
    make.reset();
    form.reset();
    onClose();
  };
  return (
    <Modal
      opened={opened}
      onClose={close}
      title={make.data ? 'The invitation' : 'Invite somebody'}
      // What is shown once, or on its way, does not close by a stray key or click.
      closeOnClickOutside={make.isIdle}
      closeOnEscape={make.isIdle}
      withCloseButton={make.isIdle || make.isError}
    >
      {make.data ? (
        <Stack>
          <Text size="sm">
            Send this link to {make.data.invitation.email ?? 'the person'}. It works once, for seven days, and
            is not shown again.
          </Text>
          <CodeBlock code={make.data.url} what="the link" />
          <Group justify="flex-end">
            <Button onClick={close}>Done</Button>
          </Group>
        </Stack>
      ) : (
        <form
          noValidate
          onSubmit={form.onSubmit((values) =>
            make.mutate(toBody(values), { onError: (error) => form.applyErrors(error) }),
          )}
        >
          <Stack>
            <TextInput
              label="E-mail address"
              description="Needed where they sign in by single sign-on. Empty: whoever has the link chooses one."
              type="email"
              data-autofocus
              {...form.getInputProps('email')}
            />
            <Radio.Group label="Role" {...form.getInputProps('role')}>
              <Stack gap="xs" mt="xs">
                <Radio value="member" label="Member: monitors, channels, maintenance, keys" />
                <Radio value="owner" label="Owner: people and channel secrets too" />
              </Stack>
            </Radio.Group>
            {make.error && <ErrorNotice error={make.error} />}
            <Group justify="flex-end">
              <Button variant="default" disabled={make.isPending} onClick={close}>
                Cancel
              </Button>
              <Button type="submit" loading={make.isPending}>
                Create the link
              </Button>
            </Group>
          </Stack>
        </form>
      )}
    </Modal>
  );
}

function toBody({ email, role }: { readonly email: string; readonly role: UserRole }): NewInvitation {
  return { role, ...(email.trim() !== '' && { email }) };
}
