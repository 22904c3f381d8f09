import { NativeSelect } from '@mantine/core';
import type { User } from '@tocsin/contracts/people/user';
import { USER_ROLES, type UserRole } from '@tocsin/contracts/vocabulary';
import { type ReactNode, useState } from 'react';
import { showError } from '../api/mutations.ts';
import { ConfirmDialog } from '../components/dialogs.tsx';
import { Quiet } from '../components/text.tsx';
import { ROLE_NAMES } from './role-names.ts';

interface RoleSelectProps {
  readonly user: User;
  readonly isLastOwner: boolean;
  readonly setRole: (role: UserRole) => Promise<unknown>;
}

/** The API refuses to demote or remove the last owner of an account. */
export function isLastOwner(user: User, users: readonly User[]): boolean {
  return user.role === 'owner' && users.filter(({ role }) => role === 'owner').length === 1;
}

/** Changes the role of a member. Asks before somebody becomes an owner or ceases to be one. */
export function RoleSelect({ user, isLastOwner: isFixed, setRole }: RoleSelectProps): ReactNode {
  const [chosen, setChosen] = useState(user.role);
  const [state, setState] = useState<'idle' | 'asking' | 'saving'>('idle');
  const choose = (role: UserRole): void => {
    setChosen(role);
    if (role === 'owner' || user.role === 'owner') return setState('asking');
    setState('saving');
    void setRole(role)
      .catch(showError)
      .finally(() => setState('idle'));
  };
  if (isFixed) return <span title="An account has at least one owner.">{ROLE_NAMES.owner}</span>;
  const isPromotion = chosen === 'owner';
  return (
    <>
      <NativeSelect
        size="xs"
        w={110}
        aria-label={`Role of ${user.name}`}
        data={USER_ROLES.map((value) => ({ value, label: ROLE_NAMES[value] }))}
        value={state === 'idle' ? user.role : chosen}
        disabled={state !== 'idle'}
        onChange={(event) => choose(event.currentTarget.value as UserRole)}
      />
      <ConfirmDialog
        opened={state === 'asking'}
        title={`Make ${user.name} ${isPromotion ? 'an' : 'a'} ${chosen}?`}
        action={isPromotion ? 'Make owner' : 'Change role'}
        onConfirm={() => setRole(chosen)}
        onClose={() => setState('idle')}
      >
        {isPromotion
          ? 'Owners see channel secrets and manage people. They can change your role and remove you.'
          : `${user.name} can no longer manage people or see channel secrets.`}
      </ConfirmDialog>
      {user.fromGroup && <Quiet size="xs">From a group</Quiet>}
    </>
  );
}

/** Says how to remove a member whose role comes from a group. */
export function describeGroupRemoval(name: string): string {
  return `To keep ${name} out, also remove them from the group at your identity provider. Otherwise, the next sign-in adds them again.`;
}
