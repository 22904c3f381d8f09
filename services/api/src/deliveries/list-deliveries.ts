import { deliveriesQuerySchema } from '@tocsin/contracts/deliveries/delivery';
import { findChannelRow } from '@tocsin/db/channels/read-channels';
import { listDeliveries } from '@tocsin/db/deliveries/read-deliveries';
import type { RequestHandler } from 'express';
import type { ApiContext } from '../context.ts';
import { parseFields } from '../http/parse-fields.ts';
import { pathIdOf } from '../http/path-id.ts';
import { callerOf } from '../http/request-state.ts';

/** A page of a channel's delivery log, newest first. */
export function listDeliveriesHandler({ db }: ApiContext): RequestHandler {
  return async function answerList(req, res) {
    const { accountId } = callerOf(res);
    const channelId = pathIdOf(req);
    await findChannelRow(db, accountId, channelId);
    const query = parseFields(deliveriesQuerySchema, req.query);
    res.json({ deliveries: await listDeliveries(db, channelId, query) });
  };
}
