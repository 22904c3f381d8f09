import { deleteChannel } from '@tocsin/db/channels/write-channels';
import type { RequestHandler } from 'express';
import type { ApiContext } from '../context.ts';
import { pathIdOf } from '../http/path-id.ts';
import { callerOf } from '../http/request-state.ts';

/** Deletes a channel with its deliveries. */
export function deleteChannelHandler({ db }: ApiContext): RequestHandler {
  return async function answerDelete(req, res) {
    await deleteChannel(db, callerOf(res).accountId, pathIdOf(req));
    res.status(204).end();
  };
}
