import { accountRoutes } from '@tocsin/contracts/accounts/routes';
import {
  createAccount,
  deleteAccount,
  getAccount,
  listAccounts,
  setMember,
  updateAccount,
} from '@tocsin/db/accounts/accounts';
import { findAccountOfRecord, listOwnAccounts } from '@tocsin/db/accounts/memberships';
import { purgeDeletedAccounts } from '@tocsin/db/accounts/purge-accounts';
import { addOperator, isOperator, listOperators, removeOperator } from '@tocsin/db/accounts/operators';
import { createApiKey } from '@tocsin/db/api-keys/api-keys';
import { listAuditEntries } from '@tocsin/db/audit-log/read-audit-log';
import { createInvitation } from '@tocsin/db/users/invitations';
import { deleteUser, listUsers } from '@tocsin/db/users/users';
import { implement, SENT } from '../http/implement.ts';
import { invitationUrl } from '../people/handlers.ts';

export const accountApi = implement(accountRoutes, ({ db, quotas, settings, logger, shutdown }) => {
  /** If this fails, the maintenance task tries again. */
  const purge = (): void =>
    void purgeDeletedAccounts(db, shutdown).catch((error: unknown) => {
      logger.warn('Could not delete the records of an account yet', { error });
    });
  return {
    listOwnAccounts: async ({ caller, query }) => {
      const own = await listOwnAccounts(db, caller.userId);
      const accountId = query.record === undefined ? null : await findAccountOfRecord(db, query.record);
      return {
        accounts: query.record === undefined ? own : own.filter(({ id }) => id === accountId),
        isOperator: await isOperator(db, caller.userId),
      };
    },
    listAccounts: async () => ({ accounts: await listAccounts(db, quotas) }),
    createAccount: async ({ caller, body, location }) => {
      const id = await createAccount(db, caller, body);
      return { body: { account: await getAccount(db, quotas, id) }, headers: { Location: location(id) } };
    },
    getAccount: async ({ id }) => ({ account: await getAccount(db, quotas, id) }),
    updateAccount: async ({ caller, id, body }) => {
      await updateAccount(db, caller, id, body);
      return { account: await getAccount(db, quotas, id) };
    },
    deleteAccount: async ({ caller, id, query }) => {
      await deleteAccount(db, caller, id, query.confirm);
      purge();
    },
    createAccountKey: async ({ caller, id: accountId, body }) => {
      const { expiresAt = null, ...fields } = body;
      return createApiKey(db, { ...caller, accountId }, { ...fields, expiresAt });
    },
    listMembers: async ({ id }) => ({ members: await listUsers(db, id) }),
    setMember: async ({ caller, id: accountId, body, res }) => {
      const actor = { ...caller, accountId };
      const member = await setMember(db, actor, body);
      if (member !== null) return { member };
      const { invitation, token } = await createInvitation(db, actor, body);
      res.status(201).json({ invitation, url: invitationUrl(settings, token) });
      return SENT;
    },
    removeMember: async ({ caller, id: accountId, path }) => {
      await deleteUser(db, { ...caller, accountId }, path.userId);
    },
    listOperators: async () => ({ operators: await listOperators(db) }),
    addOperator: async ({ caller, body }) => ({ operator: await addOperator(db, caller, body.email) }),
    removeOperator: async ({ caller, path }) => removeOperator(db, caller, path.userId),
    listOperatorAuditLog: async ({ caller, query }) => ({
      entries: await listAuditEntries(db, caller.accountId, query),
    }),
  };
});
