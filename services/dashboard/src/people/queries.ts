import { queryOptions } from '@tanstack/react-query';
import type { Invitation, User } from '@tocsin/contracts/people/user';
import type { UserRole } from '@tocsin/contracts/vocabulary';
import { request } from '../api/request.ts';

const USERS = '/api/dashboard/users';
const INVITATIONS = '/api/dashboard/invitations';

export const usersQuery = queryOptions({
  queryKey: ['users'],
  queryFn: async ({ signal }) => (await request<{ users: User[] }>('GET', USERS, { signal })).users,
});

export const invitationsQuery = queryOptions({
  queryKey: ['invitations'],
  queryFn: async ({ signal }) =>
    (await request<{ invitations: Invitation[] }>('GET', INVITATIONS, { signal })).invitations,
});

export async function setUserRole(id: string, role: UserRole): Promise<void> {
  await request('PATCH', `${USERS}/${id}`, { body: { role } });
}

/** @param revokeApiKeys whether the API keys that the user created stop working */
export async function removeUser(id: string, revokeApiKeys: boolean): Promise<void> {
  await request('DELETE', `${USERS}/${id}?revokeApiKeys=${revokeApiKeys}`);
}

export interface NewInvitation {
  readonly role: UserRole;
  readonly email?: string;
}

/** @returns the link too, for the only time */
export async function invite(input: NewInvitation): Promise<{ invitation: Invitation; url: string }> {
  return request('POST', INVITATIONS, { body: input });
}

export async function revokeInvitation(id: string): Promise<void> {
  await request('DELETE', `${INVITATIONS}/${id}`);
}
