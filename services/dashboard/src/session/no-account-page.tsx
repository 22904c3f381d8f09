import { Anchor, Button, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { LinkButton } from '../components/buttons.tsx';
import { accountSlug } from './account-in-path.ts';
import { accountsQuery, useSignOut } from './session.ts';
import { SignInFrame } from './sign-in-frame.tsx';

/** Shown to a user who is not a member of the account in the address, or of any account. */
export function NoAccountPage(): ReactNode {
  const { accounts = [], isOperator = false } = useQuery(accountsQuery).data ?? {};
  const signOut = useSignOut();
  const slug = accountSlug();
  return (
    <SignInFrame
      title={slug === null ? 'No account' : 'Account not found'}
      hint={
        slug === null
          ? 'You are not a member of any account. Ask an owner for an invitation.'
          : `There is no account with the address /${slug}, or you are not a member.`
      }
    >
      {accounts.length > 0 && (
        <Text size="sm" fw={500} component="h2">
          Your accounts
        </Text>
      )}
      {accounts.map((account) => (
        <Button key={account.id} component="a" href={`/${account.slug}`} variant="default" fullWidth>
          {account.name}
        </Button>
      ))}
      {isOperator && (
        <LinkButton to="/operator/accounts" fullWidth>
          Manage accounts
        </LinkButton>
      )}
      <Anchor component="button" type="button" size="sm" onClick={signOut}>
        Sign out
      </Anchor>
    </SignInFrame>
  );
}
