import { Input, NumberInput, SimpleGrid, TagsInput, TextInput } from '@mantine/core';
import { notifications } from '@mantine/notifications';
import { type Account, type Quota, QUOTAS, updateAccountSchema } from '@tocsin/contracts/accounts/account';
import { USER_ROLES, type UserRole } from '@tocsin/contracts/vocabulary';
import { type ReactNode, useState } from 'react';
import { useRefresh } from '../api/mutations.ts';
import { api } from '../api/request.ts';
import { bodyErrors, changedFields, useApiForm } from '../components/form.ts';
import { formatNumber } from '../components/format.ts';
import { Panel } from '../components/page.tsx';
import { SaveForm } from '../components/save-form.tsx';
import { accountSlug, openAccount } from '../session/account-in-path.ts';
import { accountsQuery } from '../session/session.ts';
import { accountQuery, allAccountsQuery, limitOf, QUOTA_LABELS } from './queries.ts';
import { ROLE_NAMES } from '../people/role-names.ts';

type AccountValues = {
  name: string;
  slug: string;
  /** Empty for the limits of the installation. */
  quotas: Record<Quota, number | ''>;
  groups: Record<UserRole, string[]>;
};

function toValues({ name, slug, ownQuotas, groups }: Account): AccountValues {
  const quotas = QUOTAS.map((quota) => [quota, ownQuotas[quota] ?? '']);
  const byRole = USER_ROLES.map((role) => [
    role,
    groups.filter((each) => each.role === role).map(({ group }) => group),
  ]);
  return {
    name,
    slug,
    quotas: Object.fromEntries(quotas) as AccountValues['quotas'],
    groups: Object.fromEntries(byRole) as AccountValues['groups'],
  };
}

function toBody({ quotas, groups, ...values }: AccountValues) {
  const own = Object.entries(quotas).filter((entry): entry is [Quota, number] => entry[1] !== '');
  return {
    ...values,
    quotas: Object.fromEntries(own),
    groups: USER_ROLES.flatMap((role) => groups[role].map((group) => ({ group, role }))),
  };
}

export function AccountSettings({ account }: { readonly account: Account }): ReactNode {
  const { id } = account;
  const refresh = useRefresh();
  // Only fields that this operator changed are sent.
  const [before, setBefore] = useState(() => toValues(account));
  const form = useApiForm<AccountValues>({
    initialValues: before,
    validate: (values) => bodyErrors(updateAccountSchema, toBody(values)),
  });
  const save = async (values: AccountValues): Promise<void> => {
    const body = changedFields(toBody(before), toBody(values));
    const saved = toValues((await api('PATCH /api/operator/accounts/:id', { id, body })).account);
    // The rest of this page load uses the new slug of the open account.
    if (before.slug === accountSlug()) openAccount(saved.slug);
    setBefore(saved);
    form.setInitialValues(saved);
    form.setValues(saved);
    notifications.show({ message: 'Account saved.' });
    await refresh(accountQuery(id), allAccountsQuery, accountsQuery);
  };
  return (
    <Panel title="Settings">
      <SaveForm form={form} action="Save" save={save}>
        <SimpleGrid cols={{ base: 1, sm: 2 }} maw={760}>
          <TextInput label="Name" required {...form.getInputProps('name')} />
          <TextInput
            label="Slug"
            leftSection="/"
            required
            description={form.values.slug !== before.slug && 'Links with the current slug will stop working.'}
            {...form.getInputProps('slug')}
          />
        </SimpleGrid>
        <Input.Wrapper
          labelElement="div"
          label="Quotas"
          description="Leave a field empty to use the installation default. For checks per minute, 0 means no limit."
        >
          <SimpleGrid cols={{ base: 1, xs: 2, md: 5 }} mt="xs">
            {QUOTAS.map((quota) => (
              <NumberInput
                key={quota}
                label={QUOTA_LABELS[quota]}
                description={`${formatNumber(account.usage[quota])} used`}
                placeholder={placeholderOf(account, quota)}
                min={0}
                allowDecimal={false}
                hideControls
                {...form.getInputProps(`quotas.${quota}`)}
              />
            ))}
          </SimpleGrid>
        </Input.Wrapper>
        <Input.Wrapper
          labelElement="div"
          label="Groups of the identity provider"
          description="Members of these groups join the account when they sign in. With several groups, the highest role applies."
          error={form.errors['groups']}
        >
          <SimpleGrid cols={{ base: 1, sm: 3 }} mt="xs">
            {USER_ROLES.map((role) => (
              <TagsInput
                key={role}
                label={`${ROLE_NAMES[role]}s`}
                {...form.getInputProps(`groups.${role}`)}
              />
            ))}
          </SimpleGrid>
        </Input.Wrapper>
      </SaveForm>
    </Panel>
  );
}

function placeholderOf(account: Account, quota: Quota): string {
  const limit = limitOf(account, quota);
  if (account.ownQuotas[quota] !== undefined) return 'Default';
  return limit === null ? 'No limit' : formatNumber(limit);
}
