import { Checkbox, NativeSelect } from '@mantine/core';
import { notifications } from '@mantine/notifications';
import { IconUserMinus } from '@tabler/icons-react';
import { useMutation, useQuery } from '@tanstack/react-query';
import type { User } from '@tocsin/contracts/people/user';
import { USER_ROLES, type UserRole } from '@tocsin/contracts/vocabulary';
import { type ReactNode, useState } from 'react';
import { showError, useRefresh } from '../api/mutations.ts';
import { api } from '../api/request.ts';
import { RowButton } from '../components/buttons.tsx';
import { ConfirmDialog } from '../components/dialogs.tsx';
import { listNames } from '../components/filter-monitors.ts';
import { DataTable, Panel } from '../components/page.tsx';
import { Quiet, Time } from '../components/text.tsx';
import { meQuery } from '../session/session.ts';
import { apiKeysQuery, invitationsQuery, usersQuery } from './queries.ts';

export function UserTable({ users }: { readonly users: readonly User[] }): ReactNode {
  const { data: me } = useQuery(meQuery);
  const [removing, setRemoving] = useState<User | null>(null);
  return (
    <Panel>
      <DataTable
        label="People"
        rows={users}
        rowKey={({ id }) => id}
        columns={[
          {
            title: 'Name',
            render: ({ id, name }) => (
              <>
                {name} {me?.user.id === id && <Quiet inline>(you)</Quiet>}
              </>
            ),
          },
          { title: 'Email address', render: ({ email }) => email },
          { title: 'Role', render: (user) => <RoleSelect user={user} /> },
          { title: 'Since', render: ({ createdAt }) => <Time value={createdAt} as="ago" /> },
          {
            title: 'Actions',
            render: (user) => (
              <RowButton
                icon={IconUserMinus}
                hint="Remove"
                label={`Remove ${user.name}`}
                onClick={() => setRemoving(user)}
              />
            ),
          },
        ]}
      />
      <RemoveUser user={removing} onClose={() => setRemoving(null)} />
    </Panel>
  );
}

function RoleSelect({ user }: { readonly user: User }): ReactNode {
  const refresh = useRefresh();
  const change = useMutation({
    mutationFn: (role: UserRole) => api('PATCH /api/dashboard/users/:id', { id: user.id, body: { role } }),
    onError: showError,
    onSettled: () => refresh(usersQuery, meQuery),
  });
  return (
    <NativeSelect
      size="xs"
      w={110}
      aria-label={`Role of ${user.name}`}
      data={[...USER_ROLES]}
      value={change.isPending ? change.variables : user.role}
      disabled={change.isPending}
      onChange={(event) => change.mutate(event.currentTarget.value as UserRole)}
    />
  );
}

interface RemoveUserProps {
  /** Null: the dialog is closed. */
  readonly user: User | null;
  readonly onClose: () => void;
}

function RemoveUser({ user, onClose }: RemoveUserProps): ReactNode {
  const refresh = useRefresh();
  const [keepsKeys, setKeepsKeys] = useState(false);
  const close = (): void => {
    setKeepsKeys(false);
    onClose();
  };
  const remove = async (): Promise<void> => {
    if (user === null) return;
    const query = { revokeApiKeys: keepsKeys ? 'false' : 'true' } as const;
    await api('DELETE /api/dashboard/users/:id', { id: user.id, query });
    await refresh(usersQuery, invitationsQuery, apiKeysQuery);
    notifications.show({ message: `${user.name} is removed and signed out everywhere.` });
    close();
  };
  return (
    <ConfirmDialog
      opened={user !== null}
      title="Remove from the account"
      action="Remove"
      name={user?.name ?? ''}
      onConfirm={remove}
      onClose={close}
    >
      This person is signed out at once. Their open invitations are revoked. Monitors and channels stay.
      {user && (
        <RevokeKeys userId={user.id} revokes={!keepsKeys} onChange={(revokes) => setKeepsKeys(!revokes)} />
      )}
    </ConfirmDialog>
  );
}

interface RevokeKeysProps {
  readonly userId: string;
  readonly revokes: boolean;
  readonly onChange: (revokes: boolean) => void;
}

/** Also shows how many keys have no recorded creator, since this user may have created them. */
function RevokeKeys({ userId, revokes, onChange }: RevokeKeysProps): ReactNode {
  // Loaded anew, since these are the keys that are about to be revoked.
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
          description="The next request with any of them is rejected. You cannot restore a revoked key."
        />
      )}
      {unrecorded > 0 && (
        <Quiet mt="sm">
          {unrecorded === 1
            ? 'One API key without a recorded creator stays.'
            : `${unrecorded} API keys without a recorded creator stay.`}
        </Quiet>
      )}
    </>
  );
}

/** @param names undefined while they load */
function describeKeys(names: readonly string[] | undefined): string {
  if (names === undefined) return 'Revoke the API keys that they created';
  return `Revoke the ${names.length === 1 ? 'API key' : `${names.length} API keys`} that they created: ${listNames(names)}`;
}
