import { Stack } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { notifications } from '@mantine/notifications';
import type { Invitation } from '@tocsin/contracts/people/user';
import { IconUserPlus, IconUsers, IconX } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { useRefresh } from '../api/mutations.ts';
import { api } from '../api/request.ts';
import { ActionButton, IconButton, LinkButton } from '../components/buttons.tsx';
import { Loaded, Placeholder } from '../components/load-states.tsx';
import { DataTable } from '../components/data-table.tsx';
import { EmptyState, PageHeader, Panel } from '../components/page.tsx';
import { Time } from '../components/text.tsx';
import { useCan } from '../session/session.ts';
import { InviteDialog } from './invite-dialog.tsx';
import { invitationsQuery, usersQuery } from './queries.ts';
import { ROLE_NAMES } from './role-names.ts';
import { UserTable } from './user-table.tsx';

/** Manages the users of the account. Only owners have access. */
export function PeoplePage(): ReactNode {
  if (useCan().manage) return <ManagePeople />;
  return (
    <>
      <PageHeader title="People" />
      <EmptyState
        icon={IconUsers}
        title="Owners only"
        action={<LinkButton to="/profile">Your profile</LinkButton>}
      >
        Ask an owner of this account to invite someone, or to change a role.
      </EmptyState>
    </>
  );
}

function ManagePeople(): ReactNode {
  const users = useQuery(usersQuery);
  const invitations = useQuery(invitationsQuery);
  const refresh = useRefresh();
  const [inviting, { open, close }] = useDisclosure();
  return (
    <>
      <PageHeader
        title="People"
        hint="Who may see and change this account"
        actions={
          <IconButton variant="filled" icon={IconUserPlus} onClick={open}>
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
      <InviteDialog
        opened={inviting}
        onClose={close}
        title="Invite a person"
        emailHint="Required for single sign-on. If empty, the person who opens the link enters one."
        invite={async ({ role, email }) => {
          const body = { role, email: email || null };
          const created = await api('POST /api/dashboard/invitations', { body });
          void refresh(invitationsQuery);
          return created;
        }}
      />
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
          Role: ({ role }) => ROLE_NAMES[role],
          Expires: ({ expiresAt }) => <Time value={expiresAt} />,
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
