import { Button, Skeleton, Stack } from '@mantine/core';
import { IconUserPlus } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { useState, type ReactNode } from 'react';
import { Loaded } from '../components/loaded.tsx';
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
