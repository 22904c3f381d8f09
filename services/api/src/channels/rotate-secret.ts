import { rotateChannelSecret } from '@tocsin/db/channels/write-channels';
import type { RequestHandler } from 'express';
import type { ApiContext } from '../context.ts';
import { pathIdOf } from '../http/path-id.ts';
import { callerOf } from '../http/request-state.ts';

/** Gives a channel a new secret; the one until now signs for another 24 hours. */
export function rotateSecretHandler(context: ApiContext): RequestHandler {
  return async function answerRotate(req, res) {
    res.json(await rotateChannelSecret(context, callerOf(res).accountId, pathIdOf(req)));
  };
}
