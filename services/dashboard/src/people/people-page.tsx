import { Radio, Stack, Text, TextInput } from '@mantine/core';
import { notifications } from '@mantine/notifications';
import { createInvitationSchema, type Invitation } from '@tocsin/contracts/people/user';
import type { UserRole } from '@tocsin/contracts/vocabulary';
import { IconUserPlus, IconUsers, IconX } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { useState, type ReactNode } from 'react';
import { useRefresh } from '../api/mutations.ts';
import { api } from '../api/request.ts';
import { ActionButton, IconButton, LinkButton } from '../components/buttons.tsx';
import { CodeBlock } from '../components/code.tsx';
import { ResultDialog } from '../components/dialogs.tsx';
import { bodyErrors, useApiForm } from '../components/form.ts';
import { Loaded, Placeholder } from '../components/load-states.tsx';
import { DataTable } from '../components/data-table.tsx';
import { EmptyState, PageHeader, Panel } from '../components/page.tsx';
import { SaveForm } from '../components/save-form.tsx';
import { Time } from '../components/text.tsx';
import { useMe } from '../session/session.ts';
import { invitationsQuery, usersQuery } from './queries.ts';
import { UserTable } from './user-table.tsx';

type CreatedInvitation = { readonly invitation: Invitation; readonly url: string };

/** Manages the users of the account. Only owners have access. */
export function PeoplePage(): ReactNode {
  const { user } = useMe();
  if (user.role === 'owner') return <ManagePeople />;
  return (
    <>
      <PageHeader title="People" />
      <EmptyState
        icon={IconUsers}
        title="Only for owners"
        action={<LinkButton to="/profile">Your profile</LinkButton>}
      >
        You are a member of this account. Ask an owner to invite someone, or to change a role.
      </EmptyState>
    </>
  );
}

function ManagePeople(): ReactNode {
  const users = useQuery(usersQuery);
  const invitations = useQuery(invitationsQuery);
  const [inviting, setInviting] = useState(false);
  const [created, setCreated] = useState<CreatedInvitation | null>(null);
  const close = (): void => {
    setInviting(false);
    setCreated(null);
  };
  return (
    <>
      <PageHeader
        title="People"
        hint="Owners and members of this account"
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
        <Loaded query={invitations} pending={null} empty={null}>
          {(open) => <InvitationTable invitations={open} />}
        </Loaded>
      </Stack>
      <ResultDialog
        opened={inviting || created !== null}
        title={created === null ? 'Invite a person' : 'Your invitation link'}
        result={created && <InvitationLink {...created} />}
        done="Done"
        onClose={close}
      >
        <InvitationForm onCreated={setCreated} onCancel={close} />
      </ResultDialog>
    </>
  );
}

function InvitationTable({ invitations }: { readonly invitations: readonly Invitation[] }): ReactNode {
  const refresh = useRefresh();
  const revoke = async (id: string): Promise<void> => {
    try {
      await api('DELETE /api/dashboard/invitations/:id', { id });
      notifications.show({ message: 'Invitation revoked. Its link no longer works.' });
    } finally {
      await refresh(invitationsQuery);
    }
  };
  return (
    <Panel title="Open invitations">
      <DataTable
        label="Open invitations"
        rows={invitations}
        rowKey={({ id }) => id}
        columns={{
          For: ({ email }) => email ?? 'Anyone with the link',
          Role: ({ role }) => role,
          Expires: ({ expiresAt }) => <Time value={expiresAt} as="ago" />,
          Actions: ({ id }) => (
            <ActionButton size="xs" icon={IconX} action={() => revoke(id)}>
              Revoke
            </ActionButton>
          ),
        }}
      />
    </Panel>
  );
}

interface InvitationFormProps {
  readonly onCreated: (created: CreatedInvitation) => void;
  readonly onCancel: () => void;
}

function InvitationForm({ onCreated, onCancel }: InvitationFormProps): ReactNode {
  const refresh = useRefresh();
  const initialValues = { email: '', role: 'member' as UserRole };
  const toBody = ({ email, role }: typeof initialValues) => ({ role, email: email.trim() || null });
  const form = useApiForm({
    initialValues,
    validate: (values) => bodyErrors(createInvitationSchema, toBody(values)),
  });
  const save = async (values: typeof initialValues): Promise<void> => {
    onCreated(await api('POST /api/dashboard/invitations', { body: toBody(values) }));
    void refresh(invitationsQuery);
  };
  return (
    <SaveForm form={form} action="Create link" save={save} onCancel={onCancel} layout="dialog">
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
    </SaveForm>
  );
}

function InvitationLink({ invitation: { email }, url }: CreatedInvitation): ReactNode {
  return (
    <>
      <Text size="sm">
        Send this link to {email ?? 'the person'}. It works once, within seven days, and is not shown again.
      </Text>
      <CodeBlock code={url} what="the link" />
    </>
  );
}
