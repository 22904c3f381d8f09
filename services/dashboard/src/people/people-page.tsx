import { Button, Skeleton, Stack } from '@mantine/core';
import { IconUserPlus } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { useState, type ReactNode } from 'react';
import { ErrorNotice } from '../app/page-states.tsx';
import { PageHeader } from '../components/page-header.tsx';
import { InvitationTable } from './invitation-table.tsx';
import { InvitePerson } from './invite-person.tsx';
import { invitationsQuery, usersQuery } from './queries.ts';
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
        {users.error && <ErrorNotice error={users.error} retry={() => void users.refetch()} />}
        {invitations.error && (
          <ErrorNotice error={invitations.error} retry={() => void invitations.refetch()} />
        )}
        {users.data ? <UserTable users={users.data} /> : !users.error && <Skeleton h={160} />}
        {invitations.data && invitations.data.length > 0 && (
          <InvitationTable invitations={invitations.data} />
        )}
      </Stack>
      <InvitePerson opened={inviting} onClose={() => setInviting(false)} />
    </>
  );
}
