import { getDelivery } from '@tocsin/db/deliveries/read-deliveries';
import type { RequestHandler } from 'express';
import type { ApiContext } from '../context.ts';
import { pathIdOf } from '../http/path-id.ts';
import { callerOf } from '../http/request-state.ts';

/** A delivery with the text it sends and every attempt. */
export function getDeliveryHandler({ db }: ApiContext): RequestHandler {
  return async function answerGet(req, res) {
    res.json({ delivery: await getDelivery(db, callerOf(res).accountId, pathIdOf(req)) });
  };
}
