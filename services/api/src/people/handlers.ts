import { peopleRoutes } from '@tocsin/contracts/people/routes';
import {
  acceptInvitation,
  checkInvitation,
  createInvitation,
  deleteInvitation,
  findOpenInvitation,
  listInvitations,
} from '@tocsin/db/users/invitations';
import { deleteUser, findUserWithAccount, listUsers, setUserRole } from '@tocsin/db/users/users';
import { implement } from '../http/implement.ts';
import { stateOf } from '../http/request-state.ts';

export const peopleApi = implement(peopleRoutes, (context) => {
  const { db, identity, settings, logger } = context;
  return {
    getMe: async ({ caller }) => {
      const { user, account } = await findUserWithAccount(db, caller.accountId, caller.userId);
      return { user, account: { ...account, defaultRegion: settings.defaultRegion } };
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
      const url = `${settings.publicUrl}/invitation?token=${token}`;
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
  };
});
