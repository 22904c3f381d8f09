import { peopleRoutes } from '@tocsin/contracts/people/routes';
import {
  acceptInvitation,
  checkInvitation,
  createInvitation,
  deleteInvitation,
  findOpenInvitation,
  joinByInvitation,
  listInvitations,
} from '@tocsin/db/users/invitations';
import { deleteUser, findUser, listUsers, setUserRole } from '@tocsin/db/users/users';
import { findAccountRow } from '@tocsin/db/accounts/accounts';
import { listOwnAccounts } from '@tocsin/db/accounts/memberships';
import { isOperator } from '@tocsin/db/accounts/operators';
import type { ApiSettings } from '../settings.ts';
import { implement } from '../http/implement.ts';
import { resourceNotFound } from '../resources.ts';
import { stateOf } from '../http/request-state.ts';

export function invitationUrl({ publicUrl }: ApiSettings, token: string): string {
  return `${publicUrl}/invitation?token=${token}`;
}

export const peopleApi = implement(peopleRoutes, (context) => {
  const { db, identity, settings, logger } = context;
  return {
    getMe: async ({ caller }) => {
      const user = await findUser(db, caller.accountId, caller.userId);
      const { id, name, slug } = await findAccountRow(db, caller.accountId);
      const account = { id, name, slug, defaultRegion: settings.defaultRegion };
      return { user, isOperator: await isOperator(db, caller.userId), account };
    },
    listUsers: async ({ caller }) => ({ users: await listUsers(db, caller.accountId) }),
    updateUser: async ({ caller, id, body }) => ({
      user: await setUserRole(db, caller, id, body.role),
    }),
    deleteUser: async ({ caller, id, query }) =>
      deleteUser(db, caller, id, { revokeApiKeys: query.revokeApiKeys === 'true' }),
    listInvitations: async ({ caller }) => ({ invitations: await listInvitations(db, caller.accountId) }),
    createInvitation: async ({ caller, body, location }) => {
      const { role, email = null } = body;
      const { invitation, token } = await createInvitation(db, caller, { role, email });
      const url = invitationUrl(settings, token);
      return { body: { invitation, token, url }, headers: { Location: location(invitation.id) } };
    },
    deleteInvitation: async ({ caller, id }) => deleteInvitation(db, caller, id),
    checkInvitation: async ({ body }) => ({ invitation: await checkInvitation(db, body.token) }),
    acceptInvitation: async ({ body: { token, name, email = null, password }, req, res }) => {
      // Hashing is slow on purpose, and an invalid token must not cause it.
      await findOpenInvitation(db, token);
      const passwordHash = await identity.hashPassword(password);
      const user = await acceptInvitation(db, { token, name, email, passwordHash }, stateOf(res).requestId);
      // The user exists by now, and can sign in as usual without this session.
      const cookies = await identity.signIn(req, user.email, password).catch((error: unknown) => {
        logger.warn('Could not sign in the user of an accepted invitation', { userId: user.id, error });
        return [];
      });
      return { body: { user }, headers: { 'Set-Cookie': [...cookies] } };
    },
    joinAccount: async ({ caller, body, res }) => {
      const accountId = await joinByInvitation(db, body.token, caller.userId, stateOf(res).requestId);
      const own = await listOwnAccounts(db, caller.userId);
      const account = own.find(({ id }) => id === accountId);
      if (account === undefined) throw resourceNotFound('account');
      return { account };
    },
  };
});
