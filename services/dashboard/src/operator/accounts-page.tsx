import { Modal, Stack, Text, TextInput } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { IconHistory, IconPlus } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import {
  type Account,
  createAccountSchema,
  proposeSlug,
  type Quota,
  QUOTAS,
} from '@tocsin/contracts/accounts/account';
import { type ReactNode, useState } from 'react';
import { useRefresh } from '../api/mutations.ts';
import { api } from '../api/request.ts';
import { IconButton, LinkButton } from '../components/buttons.tsx';
import { DataTable } from '../components/data-table.tsx';
import { bodyErrors, useApiForm } from '../components/form.ts';
import { formatNumber } from '../components/format.ts';
import { Loaded, Placeholder } from '../components/load-states.tsx';
import { PageHeader, Panel } from '../components/page.tsx';
import { SaveForm } from '../components/save-form.tsx';
import { Quiet, TextLink } from '../components/text.tsx';
import { OperatorsPanel } from './operators-panel.tsx';
import { allAccountsQuery, limitOf, mostUsedQuota, QUOTA_LABELS, shareOf } from './queries.ts';
import { SharedRegionsPanel } from './shared-regions-panel.tsx';

/** Manages the accounts of the installation. Only operators have access. */
export function AccountsPage(): ReactNode {
  const query = useQuery(allAccountsQuery);
  const [creating, { open, close }] = useDisclosure();
  return (
    <>
      <PageHeader
        title="Accounts"
        hint="The teams on this installation and their usage"
        actions={
          <>
            <LinkButton icon={IconHistory} to="/operator/audit-log">
              Audit log
            </LinkButton>
            <IconButton variant="filled" icon={IconPlus} onClick={open}>
              New account
            </IconButton>
          </>
        }
      />
      <Stack>
        <Loaded query={query} pending={<Placeholder heights={[220]} />}>
          {(accounts) => <AccountTable accounts={accounts} />}
        </Loaded>
        <SharedRegionsPanel />
        <OperatorsPanel />
      </Stack>
      <Modal opened={creating} onClose={close} title="New account">
        <NewAccountForm onClose={close} />
      </Modal>
    </>
  );
}

const HIGHEST_USAGE = 'Highest usage';
const WARN_FROM = 0.9;

/** Sorts usage by its share of the quota. */
const SORT_KEYS: Readonly<Record<string, (account: Account) => string | number>> = {
  Name: ({ name }) => name.toLowerCase(),
  Slug: ({ slug }) => slug,
  ...Object.fromEntries(
    QUOTAS.map((quota) => [QUOTA_LABELS[quota], (account: Account) => shareOf(account, quota)]),
  ),
  [HIGHEST_USAGE]: (account) => shareOf(account, mostUsedQuota(account)),
};

function AccountTable({ accounts }: { readonly accounts: readonly Account[] }): ReactNode {
  const [{ column, isAscending }, setSorting] = useState({ column: 'Name', isAscending: true });
  const keyOf = SORT_KEYS[column] ?? (({ id }: Account) => id);
  const sorted = accounts.toSorted((one, other) =>
    keyOf(one) < keyOf(other) ? -1 : Number(keyOf(one) > keyOf(other)),
  );
  return (
    <Panel>
      <DataTable
        label="Accounts"
        rows={isAscending ? sorted : sorted.toReversed()}
        rowKey={({ id }) => id}
        sorting={{
          column,
          isAscending,
          onSort: (next) =>
            setSorting({
              column: next,
              // Usage starts with the fullest account.
              isAscending: next === column ? !isAscending : ['Name', 'Slug'].includes(next),
            }),
        }}
        numbers={Object.values(QUOTA_LABELS)}
        columns={{
          Name: ({ id, name }) => (
            <TextLink to="/operator/accounts/$accountId" params={{ accountId: id }} fw={500}>
              {name}
            </TextLink>
          ),
          Slug: ({ slug }) => slug,
          ...Object.fromEntries(
            QUOTAS.map((quota) => [
              QUOTA_LABELS[quota],
              (account: Account) => <Usage account={account} quota={quota} />,
            ]),
          ),
          [HIGHEST_USAGE]: (account) => {
            const quota = mostUsedQuota(account);
            return `${Math.round(shareOf(account, quota) * 100)}% · ${QUOTA_LABELS[quota]}`;
          },
        }}
      />
    </Panel>
  );
}

interface UsageProps {
  readonly account: Account;
  readonly quota: Quota;
}

/** Formats as `12 of 500`. */
function Usage({ account, quota }: UsageProps): ReactNode {
  const limit = limitOf(account, quota);
  return (
    <Text span size="sm" c={shareOf(account, quota) >= WARN_FROM ? 'var(--warning)' : 'inherit'}>
      {formatNumber(account.usage[quota])}
      <Quiet inline>{limit === null ? '' : ` of ${formatNumber(limit)}`}</Quiet>
    </Text>
  );
}

function NewAccountForm({ onClose }: { readonly onClose: () => void }): ReactNode {
  const refresh = useRefresh();
  const navigate = useNavigate();
  /** Null while the slug follows the name. */
  const [chosen, setChosen] = useState<string | null>(null);
  const form = useApiForm({
    initialValues: { name: '', slug: '' },
    validate: (values) => bodyErrors(createAccountSchema, values),
  });
  const save = async (body: typeof form.values): Promise<void> => {
    const { account } = await api('POST /api/operator/accounts', { body });
    void refresh(allAccountsQuery);
    await navigate({ to: '/operator/accounts/$accountId', params: { accountId: account.id } });
  };
  return (
    <SaveForm form={form} action="Create account" save={save} onCancel={onClose} layout="dialog">
      <TextInput
        label="Name"
        description="For example, the name of the team"
        required
        data-autofocus
        {...form.getInputProps('name')}
        onChange={({ currentTarget: { value } }) => {
          form.setFieldValue('name', value);
          if (chosen === null) form.setFieldValue('slug', proposeSlug(value));
        }}
      />
      <TextInput
        label="Slug"
        description="The first part of the account’s URLs"
        leftSection="/"
        required
        {...form.getInputProps('slug')}
        onChange={({ currentTarget: { value } }) => {
          form.setFieldValue('slug', value);
          setChosen(value);
        }}
      />
    </SaveForm>
  );
}
