import { redeliverySchema } from '@tocsin/contracts/channel-delivery';
import { findChannelRow } from '@tocsin/db/channels/find-channel-row';
import { redeliverUndelivered } from '@tocsin/db/deliveries/redeliver';
import type { RequestHandler } from 'express';
import type { ApiContext } from '../context.ts';
import { bodyOf } from '../http/json-body.ts';
import { parseFields } from '../http/parse-fields.ts';
import { pathIdOf } from '../http/path-id.ts';
import { callerOf } from '../http/request-state.ts';
import { hintDeliveries } from './hint-deliveries.ts';

/** Makes the undelivered deliveries of a channel and a span of time due again. */
export function redeliverChannelHandler(context: ApiContext): RequestHandler {
  return async function answerRedeliver(req, res) {
    const { accountId } = callerOf(res);
    const channelId = pathIdOf(req);
    await findChannelRow(context.db, accountId, channelId);
    const range = parseFields(redeliverySchema, bodyOf(req));
    const ids = await redeliverUndelivered(context.db, accountId, channelId, range);
    hintDeliveries(context, ids);
    res.status(202).json({ count: ids.length });
  };
}
