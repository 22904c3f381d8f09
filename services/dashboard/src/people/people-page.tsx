import { Button, Radio, Stack, Text, TextInput } from '@mantine/core';
import { notifications } from '@mantine/notifications';
import { IconUserPlus } from '@tabler/icons-react';
import { useMutation, useQuery } from '@tanstack/react-query';
import { createInvitationSchema, type Invitation } from '@tocsin/contracts/people/user';
import type { UserRole } from '@tocsin/contracts/vocabulary';
import { type ReactNode, useState } from 'react';
import type { z } from 'zod';
import { showError, useRefresh } from '../api/mutations.ts';
import { api } from '../api/request.ts';
import { CodeBlock, IconButton } from '../components/buttons.tsx';
import { CreateDialog } from '../components/create-dialog.tsx';
import { useApiForm } from '../components/form.ts';
import { Loaded, Placeholder } from '../components/load-states.tsx';
import { DataTable, PageHeader, Panel } from '../components/page.tsx';
import { Time } from '../components/text.tsx';
import { invitationsQuery, usersQuery } from './queries.ts';
import { UserTable } from './user-table.tsx';

/** The users of the account, for owners. */
export function PeoplePage(): ReactNode {
  const users = useQuery(usersQuery);
  const invitations = useQuery(invitationsQuery);
  const [inviting, setInviting] = useState(false);
  return (
    <>
      <PageHeader
        title="People"
        hint="Members manage monitors, channels, maintenance and API keys. Owners also manage people and channel secrets."
        actions={
          <IconButton variant="filled" icon={IconUserPlus} onClick={() => setInviting(true)}>
            Invite
          </IconButton>
        }
      />
      <Stack>
        <Loaded query={users} pending={<Placeholder heights={[160]} />}>
          {(all) => <UserTable users={all} />}
        </Loaded>
        <Loaded query={invitations} pending={null}>
          {(open) => open.length > 0 && <InvitationTable invitations={open} />}
        </Loaded>
      </Stack>
      <InviteDialog opened={inviting} onClose={() => setInviting(false)} />
    </>
  );
}

function InvitationTable({ invitations }: { readonly invitations: readonly Invitation[] }): ReactNode {
  const refresh = useRefresh();
  const revoke = useMutation({
    mutationFn: (id: string) => api('DELETE /api/dashboard/invitations/:id', { id }),
    onSuccess: () => notifications.show({ message: 'Invitation revoked. Its link no longer works.' }),
    onError: showError,
    onSettled: () => refresh(invitationsQuery),
  });
  return (
    <Panel title="Open invitations">
      <DataTable
        label="Open invitations"
        rows={invitations}
        rowKey={({ id }) => id}
        columns={[
          { title: 'For', render: ({ email }) => email ?? 'anyone with the link' },
          { title: 'Role', render: ({ role }) => role },
          { title: 'Expires', render: ({ expiresAt }) => <Time value={expiresAt} as="ago" /> },
          {
            title: 'Actions',
            render: ({ id }) => (
              <Button
                size="xs"
                variant="default"
                loading={revoke.isPending && revoke.variables === id}
                onClick={() => revoke.mutate(id)}
              >
                Revoke
              </Button>
            ),
          },
        ]}
      />
    </Panel>
  );
}

interface InviteDialogProps {
  readonly opened: boolean;
  readonly onClose: () => void;
}

/** Creates an invitation, then shows its link once. */
function InviteDialog({ opened, onClose }: InviteDialogProps): ReactNode {
  const refresh = useRefresh();
  const form = useApiForm({
    schema: createInvitationSchema,
    initialValues: { email: '', role: 'member' },
    toBody,
  });
  return (
    <CreateDialog
      opened={opened}
      onClose={onClose}
      title="Invite a person"
      form={form}
      action="Create the link"
      create={async (values) => {
        const created = await api('POST /api/dashboard/invitations', { body: toBody(values) });
        void refresh(invitationsQuery);
        return created;
      }}
      resultTitle="Your invitation link"
      renderResult={({ invitation, url }) => (
        <>
          <Text size="sm">
            Send this link to {invitation.email ?? 'the person'}. It works once, within seven days, and is not
            shown again.
          </Text>
          <CodeBlock code={url} what="the link" />
        </>
      )}
      done="Done"
    >
      <TextInput
        label="Email address"
        description="Required for single sign-on. If empty, the person who opens the link enters one."
        type="email"
        data-autofocus
        {...form.getInputProps('email')}
      />
      <Radio.Group label="Role" {...form.getInputProps('role')}>
        <Stack gap="xs" mt="xs">
          <Radio value="member" label="Member: monitors, channels, maintenance and API keys" />
          <Radio value="owner" label="Owner: people and channel secrets, too" />
        </Stack>
      </Radio.Group>
    </CreateDialog>
  );
}

function toBody({
  email,
  role,
}: {
  readonly email: string;
  readonly role: UserRole;
}): z.input<typeof createInvitationSchema> {
  return { role, ...(email.trim() !== '' && { email }) };
}
