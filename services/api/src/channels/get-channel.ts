import { getChannel } from '@tocsin/db/channels/read-channels';
import type { RequestHandler } from 'express';
import type { ApiContext } from '../context.ts';
import { pathIdOf } from '../http/path-id.ts';
import { callerOf } from '../http/request-state.ts';

/** One channel, without its secret. */
export function getChannelHandler({ db }: ApiContext): RequestHandler {
  return async function answerGet(req, res) {
    res.json({ channel: await getChannel(db, callerOf(res).accountId, pathIdOf(req)) });
  };
}
