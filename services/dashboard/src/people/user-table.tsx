import { Checkbox } from '@mantine/core';
import { notifications } from '@mantine/notifications';
import { IconUserMinus } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import type { User } from '@tocsin/contracts/people/user';
import type { UserRole } from '@tocsin/contracts/vocabulary';
import type { ReactNode } from 'react';
import { useRefresh } from '../api/mutations.ts';
import { api } from '../api/request.ts';
import { ConfirmButton } from '../components/dialogs.tsx';
import { formatCount, listNames } from '../components/format.ts';
import { DataTable } from '../components/data-table.tsx';
import { Panel } from '../components/page.tsx';
import { Quiet, Time } from '../components/text.tsx';
import { meQuery, useMe } from '../session/session.ts';
import { apiKeysQuery, invitationsQuery, usersQuery } from './queries.ts';
import { describeGroupRemoval, isLastOwner, RoleSelect } from './role-select.tsx';

export function UserTable({ users }: { readonly users: readonly User[] }): ReactNode {
  const me = useMe();
  const refresh = useRefresh();
  const setRole = async (id: string, role: UserRole): Promise<void> => {
    try {
      await api('PATCH /api/dashboard/users/:id', { id, body: { role } });
    } finally {
      await refresh(usersQuery, meQuery);
    }
  };
  return (
    <Panel>
      <DataTable
        label="People"
        rows={users}
        rowKey={({ id }) => id}
        columns={{
          Name: ({ id, name }) => (
            <>
              {name} {me.user.id === id && <Quiet inline>(you)</Quiet>}
            </>
          ),
          'Email address': ({ email }) => email,
          Role: (user) => (
            <RoleSelect
              user={user}
              isLastOwner={isLastOwner(user, users)}
              setRole={(role) => setRole(user.id, role)}
            />
          ),
          Since: ({ createdAt }) => <Time value={createdAt} as="ago" />,
          Actions: (user) => !isLastOwner(user, users) && <RemoveUser user={user} />,
        }}
      />
    </Panel>
  );
}

interface UserProps {
  readonly user: User;
}

function RemoveUser({ user }: UserProps): ReactNode {
  const { id, name } = user;
  const refresh = useRefresh();
  const remove = async (choices: FormData): Promise<void> => {
    const keepsKeys = choices.getAll('revokeApiKeys').at(-1) === 'false';
    const query = { revokeApiKeys: keepsKeys ? 'false' : 'true' } as const;
    await api('DELETE /api/dashboard/users/:id', { id, query });
    await refresh(usersQuery, invitationsQuery, apiKeysQuery);
    notifications.show({ message: `${name} was removed.` });
  };
  return (
    <ConfirmButton
      button={{ icon: IconUserMinus, hint: 'Remove', label: `Remove ${name}` }}
      title={`Remove ${name} from this account?`}
      action="Remove"
      name={name}
      onConfirm={remove}
    >
      {name} loses access at once. Their open invitations are revoked. Monitors and channels stay.{' '}
      {user.fromGroup && describeGroupRemoval(name)}
      <RevokeKeys user={user} />
    </ConfirmButton>
  );
}

/** Also counts keys without a creator, because this user may have a copy of them. */
function RevokeKeys({ user: { id, role } }: UserProps): ReactNode {
  // The keys are about to be revoked, so they must be current.
  const { data: keys } = useQuery({ ...apiKeysQuery, staleTime: 0 });
  const names = keys?.filter(({ createdBy }) => createdBy?.id === id).map(({ name }) => name);
  const withoutCreator = keys?.filter(({ createdBy }) => createdBy === null).length ?? 0;
  return (
    <>
      {role === 'viewer' && names?.length !== 0 && (
        <Quiet mt="sm">The API keys that they created are revoked.</Quiet>
      )}
      {role !== 'viewer' && names?.length !== 0 && (
        <>
          <input type="hidden" name="revokeApiKeys" value="false" />
          <Checkbox
            mt="sm"
            name="revokeApiKeys"
            value="true"
            defaultChecked
            label={describeKeys(names)}
            description="Requests with these keys are rejected immediately. You cannot restore a revoked key."
          />
        </>
      )}
      {withoutCreator > 0 && (
        <Quiet mt="sm">
          {formatCount(withoutCreator, 'API key')} without a creator, for example from the settings, will not
          be revoked.
        </Quiet>
      )}
    </>
  );
}

/** @param names undefined while they load */
function describeKeys(names: readonly string[] | undefined): string {
  if (names === undefined) return 'Revoke the API keys that they created';
  return `Revoke the ${names.length === 1 ? 'API key' : formatCount(names.length, 'API key')} that they created: ${listNames(names)}`;
}
