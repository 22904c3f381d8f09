import { redeliver } from '@tocsin/db/deliveries/redeliver';
import type { RequestHandler } from 'express';
import type { ApiContext } from '../context.ts';
import { pathIdOf } from '../http/path-id.ts';
import { callerOf } from '../http/request-state.ts';
import { hintDeliveries } from './hint-deliveries.ts';

/** Makes one delivery due again. */
export function redeliverHandler(context: ApiContext): RequestHandler {
  return async function answerRedeliver(req, res) {
    const delivery = await redeliver(context.db, callerOf(res).accountId, pathIdOf(req));
    hintDeliveries(context, [delivery.id]);
    res.status(202).json({ delivery });
  };
}
