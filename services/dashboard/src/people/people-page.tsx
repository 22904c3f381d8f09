import { Button, Group, Modal, Radio, Skeleton, Stack, Table, Text, TextInput } from '@mantine/core';
import { notifications } from '@mantine/notifications';
import { IconUserPlus } from '@tabler/icons-react';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { createInvitationSchema } from '@tocsin/contracts/people/user';
import type { Invitation } from '@tocsin/contracts/people/user';
import type { UserRole } from '@tocsin/contracts/vocabulary';
import { type ReactNode, useState } from 'react';
import { describeError } from '../api/api-error.ts';
import { ErrorNotice } from '../app/page-states.tsx';
import { CardCell, CardTable } from '../components/card-table.tsx';
import { CodeBlock } from '../components/code-block.tsx';
import { Loaded } from '../components/loaded.tsx';
import { PageHeader } from '../components/page-header.tsx';
import { Panel } from '../components/panel.tsx';
import { Time } from '../components/time.tsx';
import { useApiForm } from '../components/use-api-form.ts';
import { invitationsQuery, invite, type NewInvitation, takeBackInvitation, usersQuery } from './queries.ts';
import { UserTable } from './user-table.tsx';

/** The account's people, for owners. */
export function PeoplePage(): ReactNode {
  const users = useQuery(usersQuery);
  const invitations = useQuery(invitationsQuery);
  const [inviting, setInviting] = useState(false);
  return (
    <>
      <PageHeader
        title="People"
        hint="Members do everything but manage people and see channel secrets; owners do that too."
        actions={
          <Button leftSection={<IconUserPlus size={16} aria-hidden />} onClick={() => setInviting(true)}>
            Invite
          </Button>
        }
      />
      <Stack>
        <Loaded query={users} pending={<Skeleton h={160} />}>
          {(all) => <UserTable users={all} />}
        </Loaded>
        <Loaded query={invitations} pending={null}>
          {(open) => open.length > 0 && <InvitationTable invitations={open} />}
        </Loaded>
      </Stack>
      <InvitePerson opened={inviting} onClose={() => setInviting(false)} />
    </>
  );
}

const COLUMNS = ['For', 'Role', 'Ends', 'Actions'];

/** Invitations that nobody has accepted yet. */
export function InvitationTable({ invitations }: { readonly invitations: readonly Invitation[] }): ReactNode {
  const queryClient = useQueryClient();
  const takeBack = useMutation({
    mutationFn: takeBackInvitation,
    onSuccess: () => notifications.show({ message: 'The link no longer works.' }),
    onError: (error) => notifications.show({ color: 'red', message: describeError(error) }),
    onSettled: () => queryClient.invalidateQueries({ queryKey: invitationsQuery.queryKey }),
  });
  return (
    <Panel title="Open invitations">
      <CardTable label="Open invitations" columns={COLUMNS}>
        {invitations.map(({ id, email, role, expiresAt }) => (
          <Table.Tr key={id}>
            <CardCell column="For" heading>
              {email ?? 'whoever has the link'}
            </CardCell>
            <CardCell column="Role">{role}</CardCell>
            <CardCell column="Ends">
              <Time value={expiresAt} as="ago" />
            </CardCell>
            <CardCell column="Actions">
              <Button
                size="xs"
                variant="default"
                loading={takeBack.isPending && takeBack.variables === id}
                onClick={() => takeBack.mutate(id)}
              >
                Revoke
              </Button>
            </CardCell>
          </Table.Tr>
        ))}
      </CardTable>
    </Panel>
  );
}

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
