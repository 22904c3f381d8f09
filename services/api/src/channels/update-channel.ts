import { findChannelRow } from '@tocsin/db/channels/read-channels';
import { updateChannel } from '@tocsin/db/channels/write-channels';
import type { RequestHandler } from 'express';
import type { ApiContext } from '../context.ts';
import { bodyOf } from '../http/json-body.ts';
import { pathIdOf } from '../http/path-id.ts';
import { callerOf } from '../http/request-state.ts';
import { parseChannelUpdate } from './channel-fields.ts';

/** Changes the fields that are given; `monitorIds` is replaced as a whole. */
export function updateChannelHandler(context: ApiContext): RequestHandler {
  return async function answerUpdate(req, res) {
    const { accountId } = callerOf(res);
    const id = pathIdOf(req);
    // 404 comes before field errors, one of which takes a look at DNS.
    await findChannelRow(context.db, accountId, id);
    const update = await parseChannelUpdate(context, accountId, bodyOf(req));
    res.json({ channel: await updateChannel(context.db, accountId, id, update) });
  };
}
