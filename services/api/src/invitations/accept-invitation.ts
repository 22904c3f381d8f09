import { acceptInvitationSchema } from '@tocsin/contracts/people/user';
import { acceptInvitation, findOpenInvitation } from '@tocsin/db/users/invitations';
import type { RequestHandler } from 'express';
import type { ApiContext } from '../context.ts';
import { bodyOf } from '../http/json-body.ts';
import { parseFields } from '../http/parse-fields.ts';

/** Makes a user of whoever has the link, and signs in. Needs no session: the token is the proof. */
export function acceptInvitationHandler({ db, identity, logger }: ApiContext): RequestHandler {
  return async function answerAccept(req, res) {
    const { token, name, email, password } = parseFields(acceptInvitationSchema, bodyOf(req));
    // Hashing is made to be slow: not for a token that is none.
    await findOpenInvitation(db, token);
    const passwordHash = await identity.hashPassword(password);
    const user = await acceptInvitation(db, { token, name, email: email ?? null, passwordHash });
    // The user exists by now, and the invitation is spent: without a session, there is still the way of everybody else.
    const cookies = await identity.signIn(req, user.email, password).catch((error: unknown) => {
      logger.warn('Who accepted an invitation could not be signed in', { userId: user.id, error });
      return [];
    });
    for (const cookie of cookies) res.append('Set-Cookie', cookie);
    res.status(201).json({ user });
  };
}
