import type { Me } from '@tocsin/contracts/people/user';
import { findUserWithAccount } from '@tocsin/db/users/users';
import type { RequestHandler } from 'express';
import type { ApiContext } from '../context.ts';
import { callerOf } from '../http/request-state.ts';

/** Who is signed in, and to which account. */
export function meHandler({ db, settings: { defaultRegion } }: ApiContext): RequestHandler {
  return async function answerMe(_req, res) {
    const { accountId, userId } = callerOf(res);
    if (userId === null) throw new Error('this route is not behind authenticateSession');
    const { user, account } = await findUserWithAccount(db, accountId, userId);
    res.json({ user, account: { ...account, defaultRegion } } satisfies Me);
  };
}
