import { NativeSelect } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import type { User } from '@tocsin/contracts/people/user';
import { USER_ROLES, type UserRole } from '@tocsin/contracts/vocabulary';
import type { ReactNode } from 'react';
import { showError } from '../api/mutations.ts';
import { Quiet } from '../components/text.tsx';

interface RoleSelectProps {
  readonly user: User;
  readonly setRole: (role: UserRole) => Promise<unknown>;
}

/** Changes the role of a member at once. */
export function RoleSelect({ user, setRole }: RoleSelectProps): ReactNode {
  const change = useMutation({ mutationFn: setRole, onError: showError });
  return (
    <>
      <NativeSelect
        size="xs"
        w={110}
        aria-label={`Role of ${user.name}`}
        data={[...USER_ROLES]}
        value={change.isPending ? change.variables : user.role}
        disabled={change.isPending}
        onChange={(event) => change.mutate(event.currentTarget.value as UserRole)}
      />
      {user.fromGroup && <Quiet size="xs">From a group</Quiet>}
    </>
  );
}

/** Says how to remove a member whose role comes from a group. */
export function describeGroupRemoval(name: string): string {
  return `To keep ${name} out, also remove them from the group at your identity provider. Otherwise, the next sign-in adds them again.`;
}
