import { Anchor, Stack } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { notifications } from '@mantine/notifications';
import { IconKey, IconTrash, IconUserMinus, IconUserPlus } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { getRouteApi, useNavigate } from '@tanstack/react-router';
import type { Account } from '@tocsin/contracts/accounts/account';
import type { User } from '@tocsin/contracts/people/user';
import type { UserRole } from '@tocsin/contracts/vocabulary';
import type { ReactNode } from 'react';
import { ApiKeyDialog } from '../api-keys/api-key-dialog.tsx';
import { useRefresh } from '../api/mutations.ts';
import { api, isStatus } from '../api/request.ts';
import { IconButton } from '../components/buttons.tsx';
import { DataTable } from '../components/data-table.tsx';
import { ConfirmButton } from '../components/dialogs.tsx';
import { Loaded, NotFoundPage, Placeholder } from '../components/load-states.tsx';
import { PageHeader, Panel } from '../components/page.tsx';
import { Quiet, Time } from '../components/text.tsx';
import { type CreatedInvitation, InviteDialog } from '../people/invite-dialog.tsx';
import { describeGroupRemoval, isLastOwner, RoleSelect } from '../people/role-select.tsx';
import { accountSlug } from '../session/account-in-path.ts';
import { accountsQuery, useAccounts, useUser } from '../session/session.ts';
import { AccountSettings } from './account-settings.tsx';
import { accountQuery, allAccountsQuery, membersQuery } from './queries.ts';

const route = getRouteApi('/signed-in/operating/operator/accounts/$accountId');

export function AccountPage(): ReactNode {
  const { accountId } = route.useParams();
  const query = useQuery(accountQuery(accountId));
  if (isStatus(query.error, 404)) return <NotFoundPage />;
  return (
    <Loaded query={query} pending={<Placeholder heights={[62, 380, 160]} />}>
      {(account) => <AccountPanels key={account.id} account={account} />}
    </Loaded>
  );
}

interface AccountProps {
  readonly account: Account;
}

function AccountPanels({ account }: AccountProps): ReactNode {
  const { id, name, slug, createdAt } = account;
  const isMember = useAccounts().accounts.some((one) => one.id === id);
  const [creatingKey, key] = useDisclosure();
  return (
    <>
      <PageHeader
        title={name}
        hint={
          <>
            Account created on <Time value={createdAt} />
            {isMember && (
              <Anchor href={`/${slug}`} inherit ml="xs">
                Open account
              </Anchor>
            )}
          </>
        }
        actions={
          <>
            <IconButton icon={IconKey} onClick={key.open} aria-haspopup="dialog">
              New API key
            </IconButton>
            <DeleteAccount account={account} />
          </>
        }
      />
      <Stack>
        <AccountSettings account={account} />
        <Members account={account} />
      </Stack>
      <ApiKeyDialog
        opened={creatingKey}
        onClose={key.close}
        create={(body) => api('POST /api/operator/accounts/:id/api-keys', { id, body })}
      />
    </>
  );
}

function DeleteAccount({ account: { id, name, slug } }: AccountProps): ReactNode {
  const refresh = useRefresh();
  const navigate = useNavigate();
  const remove = async (): Promise<void> => {
    await api('DELETE /api/operator/accounts/:id', { id, query: { confirm: slug } });
    // A page load opens another account.
    if (slug === accountSlug()) return window.location.assign('/operator/accounts');
    notifications.show({ message: `${name} was deleted.` });
    await navigate({ to: '/operator/accounts', ignoreBlocker: true });
    await refresh(allAccountsQuery, accountsQuery);
  };
  return (
    <ConfirmButton
      button={{ icon: IconTrash, children: 'Delete' }}
      title={`Delete ${name}?`}
      action="Delete"
      name={slug}
      onConfirm={remove}
    >
      Members lose access and API keys stop working at once. Checks stop within seconds. Users who belong to
      no other account are deleted, except operators. This cannot be undone.
    </ConfirmButton>
  );
}

function Members({ account: { id, name, slug } }: AccountProps): ReactNode {
  const me = useUser();
  const query = useQuery(membersQuery(id));
  const refresh = useRefresh();
  const [adding, { open, close }] = useDisclosure();
  /** Changes the role of a user, or adds one. @returns an invitation if there is no such user */
  const set = async (body: { email: string; role: UserRole }): Promise<CreatedInvitation | null> => {
    const response = await api('PUT /api/operator/accounts/:id/members', { id, body });
    await refresh(membersQuery(id), accountsQuery);
    // The type of the client has only the 200.
    const result = response as { readonly member: User } | CreatedInvitation;
    return 'url' in result ? result : null;
  };
  const remove = async (userId: string): Promise<void> => {
    await api('DELETE /api/operator/accounts/:id/members/:userId', { id, path: { userId } });
    if (userId === me?.id && slug === accountSlug()) return window.location.reload();
    await refresh(membersQuery(id), accountsQuery);
  };
  return (
    <Panel
      title="Members"
      actions={
        <IconButton size="xs" icon={IconUserPlus} onClick={open} aria-haspopup="dialog">
          Add a member
        </IconButton>
      }
    >
      <Loaded
        query={query}
        pending={<Placeholder heights={[120]} />}
        empty={<Quiet>No members yet. Add an owner, who can then invite others.</Quiet>}
      >
        {(members) => (
          <DataTable
            label="Members"
            rows={members}
            rowKey={(member) => member.id}
            columns={{
              Name: (member) => member.name,
              'Email address': ({ email }) => email,
              Role: (member) => (
                <RoleSelect
                  user={member}
                  isLastOwner={isLastOwner(member, members)}
                  setRole={(role) => set({ email: member.email, role })}
                />
              ),
              Since: (member) => <Time value={member.createdAt} as="ago" />,
              Actions: (member) =>
                !isLastOwner(member, members) && (
                  <ConfirmButton
                    button={{ icon: IconUserMinus, hint: 'Remove', label: `Remove ${member.name}` }}
                    title={`Remove ${member.name} from ${name}?`}
                    action="Remove"
                    onConfirm={() => remove(member.id)}
                  >
                    {member.name} loses access at once, and the API keys that they created in this account
                    stop working. {member.fromGroup && describeGroupRemoval(member.name)}
                  </ConfirmButton>
                ),
            }}
          />
        )}
      </Loaded>
      <InviteDialog
        opened={adding}
        onClose={close}
        title={`Add a member to ${name}`}
        emailHint="A user with a verified address is added at once. For anyone else, you get an invitation link."
        isEmailRequired
        invite={set}
      />
    </Panel>
  );
}
