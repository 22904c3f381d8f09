import { revealChannelSecret } from '@tocsin/db/channels/read-channels';
import type { RequestHandler } from 'express';
import type { ApiContext } from '../context.ts';
import { pathIdOf } from '../http/path-id.ts';
import { callerOf } from '../http/request-state.ts';

/** The signing secret of a channel, for owners of the account. */
export function revealSecretHandler(context: ApiContext): RequestHandler {
  return async function answerSecret(req, res) {
    res.json({ secret: await revealChannelSecret(context, callerOf(res).accountId, pathIdOf(req)) });
  };
}
