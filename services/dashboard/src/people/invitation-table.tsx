import { Button, Table } from '@mantine/core';
import { notifications } from '@mantine/notifications';
import type { Invitation } from '@tocsin/contracts/user';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { describeError } from '../api/api-error.ts';
import { Panel } from '../components/panel.tsx';
import { Time } from '../components/time.tsx';
import { invitationsQuery, takeBackInvitation } from './queries.ts';

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
      <Table.ScrollContainer minWidth={520} scrollAreaProps={{ viewportProps: { tabIndex: 0 } }}>
        <Table verticalSpacing="sm">
          <Table.Thead>
            <Table.Tr>
              <Table.Th scope="col">For</Table.Th>
              <Table.Th scope="col">Role</Table.Th>
              <Table.Th scope="col">Ends</Table.Th>
              <Table.Th scope="col" aria-label="Actions" />
            </Table.Tr>
          </Table.Thead>
          <Table.Tbody>
            {invitations.map(({ id, email, role, expiresAt }) => (
              <Table.Tr key={id}>
                <Table.Th scope="row" fw={500}>
                  {email ?? 'whoever has the link'}
                </Table.Th>
                <Table.Td>{role}</Table.Td>
                <Table.Td>
                  <Time value={expiresAt} as="ago" />
                </Table.Td>
                <Table.Td ta="right">
                  <Button
                    size="xs"
                    variant="default"
                    loading={takeBack.isPending && takeBack.variables === id}
                    onClick={() => takeBack.mutate(id)}
                  >
                    Revoke
                  </Button>
                </Table.Td>
              </Table.Tr>
            ))}
          </Table.Tbody>
        </Table>
      </Table.ScrollContainer>
    </Panel>
  );
}
