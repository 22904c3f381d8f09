import { deleteUserQuerySchema, updateUserSchema } from '@tocsin/contracts/people/user';
import { deleteUser, setUserRole } from '@tocsin/db/users/change-users';
import { findUserWithAccount, listUsers, userNotFound } from '@tocsin/db/users/users';
import { Router } from 'express';
import type { RequestHandler } from 'express';
import { requireOwner } from '../access/access.ts';
import type { ApiContext } from '../context.ts';
import { bodyOf, parseJsonBody } from '../http/json-body.ts';
import { parseFields } from '../http/parse-fields.ts';
import { pathIdOf, requirePathId } from '../http/path-id.ts';
import { callerOf } from '../http/request-state.ts';
import { resource } from '../http/resource.ts';

/** The people of the account; owners only. */
export function usersRouter(context: ApiContext): Router {
  const router = Router({ caseSensitive: true });
  const requireUserId = requirePathId(userNotFound);
  resource(router, '/', {
    get: [requireOwner, listHandler(context)],
  });
  resource(router, '/:id', {
    patch: [parseJsonBody, requireOwner, requireUserId, updateHandler(context)],
    delete: [requireOwner, requireUserId, deleteHandler(context)],
  });
  return router;
}

function listHandler({ db }: ApiContext): RequestHandler {
  return async function answerList(_req, res) {
    res.json({ users: await listUsers(db, callerOf(res).accountId) });
  };
}

function updateHandler({ db }: ApiContext): RequestHandler {
  return async function answerUpdate(req, res) {
    const id = pathIdOf(req);
    const { accountId } = callerOf(res);
    const update = updateUserSchema.safeParse(bodyOf(req));
    // An unknown user is said before a field at fault (design §3 "Validation").
    if (!update.success) await findUserWithAccount(db, accountId, id);
    const { role } = parseFields(updateUserSchema, bodyOf(req));
    res.json({ user: await setUserRole(db, accountId, id, role) });
  };
}

/** All sessions of the user end with it. */
function deleteHandler({ db }: ApiContext): RequestHandler {
  return async function answerDelete(req, res) {
    const id = pathIdOf(req);
    const { accountId } = callerOf(res);
    const query = deleteUserQuerySchema.safeParse(req.query);
    // An unknown user is said before a field at fault (design §3 "Validation").
    if (!query.success) await findUserWithAccount(db, accountId, id);
    const { revokeApiKeys } = parseFields(deleteUserQuerySchema, req.query);
    await deleteUser(db, accountId, id, { revokeApiKeys: revokeApiKeys === 'true' });
    res.status(204).end();
  };
}
