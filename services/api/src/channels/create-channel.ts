import { getChannel } from '@tocsin/db/channels/read-channels';
import { createChannel } from '@tocsin/db/channels/write-channels';
import type { RequestHandler } from 'express';
import type { ApiContext } from '../context.ts';
import { bodyOf } from '../http/json-body.ts';
import { callerOf } from '../http/request-state.ts';
import { parseChannel } from './channel-fields.ts';

/** Creates a channel; its secret is in the answer. */
export function createChannelHandler(context: ApiContext): RequestHandler {
  return async function answerCreate(req, res) {
    const { accountId } = callerOf(res);
    const input = await parseChannel(context, accountId, bodyOf(req));
    const { id, secret } = await createChannel(context, { accountId, ...input });
    const channel = await getChannel(context.db, accountId, id);
    res.status(201).location(`${req.baseUrl}/${id}`).json({ channel, secret });
  };
}
