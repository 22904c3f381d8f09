import { ActionIcon, Checkbox, NativeSelect, Table, Text, Tooltip } from '@mantine/core';
import { notifications } from '@mantine/notifications';
import { IconUserMinus } from '@tabler/icons-react';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import type { User } from '@tocsin/contracts/people/user';
import { USER_ROLES, type UserRole } from '@tocsin/contracts/vocabulary';
import { type ReactNode, useState } from 'react';
import { apiKeysQuery } from '../api-keys/queries.ts';
import { describeError } from '../api/api-error.ts';
import { CardCell, CardTable } from '../components/card-table.tsx';
import { ConfirmByName } from '../components/confirm-by-name.tsx';
import { Panel } from '../components/panel.tsx';
import { Time } from '../components/time.tsx';
import { meQuery } from '../session/session.ts';
import { removeUser, setUserRole } from './queries.ts';

const COLUMNS = ['Name', 'E-mail address', 'Role', 'Since', 'Actions'];

export function UserTable({ users }: { readonly users: readonly User[] }): ReactNode {
  const [leaving, setLeaving] = useState<User | null>(null);
  return (
    <Panel>
      <CardTable label="People" columns={COLUMNS}>
        {users.map((user) => (
          <UserRow key={user.id} user={user} onRemove={() => setLeaving(user)} />
        ))}
      </CardTable>
      <RemoveUser user={leaving} onClose={() => setLeaving(null)} />
    </Panel>
  );
}

function UserRow({ user, onRemove }: { readonly user: User; readonly onRemove: () => void }): ReactNode {
  const queryClient = useQueryClient();
  const { data: me } = useQuery(meQuery);
  const change = useMutation({
    mutationFn: (role: UserRole) => setUserRole(user.id, role),
    onError: (error) => notifications.show({ color: 'red', message: describeError(error) }),
    onSettled: () =>
      Promise.all([
        queryClient.invalidateQueries({ queryKey: ['users'] }),
        queryClient.invalidateQueries({ queryKey: ['me'] }),
      ]),
  });
  const isMe = me?.user.id === user.id;
  return (
    <Table.Tr>
      <CardCell column="Name" heading>
        {user.name}{' '}
        {isMe && (
          <Text component="span" size="sm" c="var(--text-quiet)">
            (you)
          </Text>
        )}
      </CardCell>
      <CardCell column="E-mail address">{user.email}</CardCell>
      <CardCell column="Role">
        <NativeSelect
          size="xs"
          w={110}
          aria-label={`Role of ${user.name}`}
          data={[...USER_ROLES]}
          value={change.isPending ? change.variables : user.role}
          disabled={change.isPending}
          onChange={(event) => change.mutate(event.currentTarget.value as UserRole)}
        />
      </CardCell>
      <CardCell column="Since">
        <Time value={user.createdAt} as="ago" />
      </CardCell>
      <CardCell column="Actions">
        <Tooltip label="Remove">
          <ActionIcon variant="subtle" color="gray" onClick={onRemove} aria-label={`Remove ${user.name}`}>
            <IconUserMinus size={18} aria-hidden />
          </ActionIcon>
        </Tooltip>
      </CardCell>
    </Table.Tr>
  );
}

function RemoveUser({
  user,
  onClose,
}: {
  readonly user: User | null;
  readonly onClose: () => void;
}): ReactNode {
  const queryClient = useQueryClient();
  const [keepsKeys, setKeepsKeys] = useState(false);
  const close = (): void => {
    setKeepsKeys(false);
    onClose();
  };
  const remove = useMutation({
    mutationFn: ({ id }: User) => removeUser(id, !keepsKeys),
    onSuccess: async (_, { name }) => {
      await queryClient.invalidateQueries({ queryKey: ['users'] });
      await queryClient.invalidateQueries({ queryKey: ['invitations'] });
      await queryClient.invalidateQueries({ queryKey: apiKeysQuery.queryKey });
      notifications.show({ message: `${name} is removed and signed out everywhere.` });
      close();
    },
  });
  return (
    <ConfirmByName
      title="Remove from the account"
      action="Remove"
      name={user?.name ?? ''}
      opened={user !== null}
      busy={remove.isPending}
      error={remove.error}
      onConfirm={() => user && remove.mutate(user)}
      onClose={() => {
        remove.reset();
        close();
      }}
    >
      They are signed out at once, and the open invitations that they made end. Monitors and channels stay.
      {user && (
        <RevokeKeys userId={user.id} revokes={!keepsKeys} onChange={(revokes) => setKeepsKeys(!revokes)} />
      )}
    </ConfirmByName>
  );
}

interface RevokeKeysProps {
  readonly userId: string;
  readonly revokes: boolean;
  readonly onChange: (revokes: boolean) => void;
}

/** Also names how many keys nobody is recorded for: this user may have created them. */
function RevokeKeys({ userId, revokes, onChange }: RevokeKeysProps): ReactNode {
  // What is about to be revoked, not what was there a while ago.
  const { data: keys } = useQuery({ ...apiKeysQuery, staleTime: 0 });
  const names = keys?.filter(({ createdBy }) => createdBy?.id === userId).map(({ name }) => name);
  const unrecorded = keys?.filter(({ createdBy }) => createdBy === null).length ?? 0;
  return (
    <>
      {names?.length !== 0 && (
        <Checkbox
          mt="sm"
          checked={revokes}
          onChange={(event) => onChange(event.currentTarget.checked)}
          label={describeKeys(names)}
          description="Pipelines and tools that use them are refused from their next request on. Revoked keys cannot be brought back."
        />
      )}
      {unrecorded > 0 && (
        <Text mt="sm" size="sm" c="var(--text-quiet)">
          {unrecorded === 1
            ? 'One API key without a recorded creator stays.'
            : `${unrecorded} API keys without a recorded creator stay.`}
        </Text>
      )}
    </>
  );
}

/** @param names undefined: not known yet */
function describeKeys(names: readonly string[] | undefined): string {
  if (names === undefined) return 'Revoke the API keys that they created';
  const shown = names.slice(0, 3).join(', ') + (names.length > 3 ? ', …' : '');
  return `Revoke the ${names.length === 1 ? 'API key' : `${names.length} API keys`} that they created: ${shown}`;
}
