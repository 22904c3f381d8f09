import { Button, Table } from '@mantine/core';
import { notifications } from '@mantine/notifications';
import type { Invitation } from '@tocsin/contracts/user';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { describeError } from '../api/api-error.ts';
import { CardCell, CardTable } from '../components/card-table.tsx';
import { Panel } from '../components/panel.tsx';
import { Time } from '../components/time.tsx';
import { invitationsQuery, takeBackInvitation } from './queries.ts';

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
