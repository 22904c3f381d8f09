import { listChannels } from '@tocsin/db/channels/read-channels';
import type { RequestHandler } from 'express';
import type { ApiContext } from '../context.ts';
import { callerOf } from '../http/request-state.ts';

/** Every channel of the account, newest first. */
export function listChannelsHandler({ db }: ApiContext): RequestHandler {
  return async function answerList(_req, res) {
    res.json({ channels: await listChannels(db, callerOf(res).accountId) });
  };
}
