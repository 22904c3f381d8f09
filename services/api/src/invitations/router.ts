import { createInvitationSchema } from '@tocsin/contracts/people/user';
import {
  createInvitation,
  deleteInvitation,
  invitationNotFound,
  listInvitations,
} from '@tocsin/db/users/invitations';
import { Router } from 'express';
import type { RequestHandler } from 'express';
import { requireOwner } from '../access/access.ts';
import type { ApiContext } from '../context.ts';
import { bodyOf, parseJsonBody } from '../http/json-body.ts';
import { parseFields } from '../http/parse-fields.ts';
import { pathIdOf, requirePathId } from '../http/path-id.ts';
import { callerOf } from '../http/request-state.ts';
import { resource } from '../http/resource.ts';
import { keepUncompressed } from '../http/response-headers.ts';

/** Links that let people join the account; owners only. Accepting one needs no session: see `accept-invitation.ts`. */
export function invitationsRouter(context: ApiContext): Router {
  const router = Router({ caseSensitive: true });
  resource(router, '/', {
    get: [requireOwner, listHandler(context)],
    post: [keepUncompressed, parseJsonBody, requireOwner, createHandler(context)],
  });
  resource(router, '/:id', {
    delete: [requireOwner, requirePathId(invitationNotFound), deleteHandler(context)],
  });
  return router;
}

function listHandler({ db }: ApiContext): RequestHandler {
  return async function answerList(_req, res) {
    res.json({ invitations: await listInvitations(db, callerOf(res).accountId) });
  };
}

/** The only answer that shows the token, and the link that carries it. */
function createHandler({ db, settings }: ApiContext): RequestHandler {
  return async function answerCreate(req, res) {
    const { email, role } = parseFields(createInvitationSchema, bodyOf(req));
    const { accountId, userId } = callerOf(res);
    const { invitation, token } = await createInvitation(db, {
      accountId,
      role,
      email: email ?? null,
      createdBy: userId,
    });
    const url = `${settings.publicUrl}/invitation?token=${token}`;
    res.status(201).location(`${req.baseUrl}/${invitation.id}`).json({ invitation, token, url });
  };
}

function deleteHandler({ db }: ApiContext): RequestHandler {
  return async function answerDelete(req, res) {
    await deleteInvitation(db, callerOf(res).accountId, pathIdOf(req));
    res.status(204).end();
  };
}
