import { type RedeliveryResult, redeliverySchema } from '@tocsin/contracts/deliveries/delivery';
import { AppError } from '@tocsin/contracts/errors';
import { findChannelRow } from '@tocsin/db/channels/read-channels';
import { redeliverUndelivered } from '@tocsin/db/deliveries/redeliver';
import type { RequestHandler } from 'express';
import type { ApiContext } from '../context.ts';
import { bodyOf } from '../http/json-body.ts';
import { parseFields } from '../http/parse-fields.ts';
import { pathIdOf } from '../http/path-id.ts';
import { callerOf } from '../http/request-state.ts';
import { hintDeliveries } from './hint-deliveries.ts';

/** How long a request releases deliveries. Clients wait for it. */
const RELEASE_WITHIN_MS = 10_000;
/** The relay finds the rest; so many hints are enough to be prompt. */
const MAX_HINTS = 1_000;

/**
 * Makes the undelivered deliveries of a channel and a span of time due again. If the time runs out or it ends early, the response has
 * `more: true` and `Retry-After`: the same request continues.
 */
export function redeliverChannelHandler(context: ApiContext): RequestHandler {
  return async function answerRedeliver(req, res) {
    const { accountId } = callerOf(res);
    const channelId = pathIdOf(req);
    await findChannelRow(context.db, accountId, channelId);
    const range = parseFields(redeliverySchema, bodyOf(req));
    const ending = AbortSignal.any([context.shutdown, AbortSignal.timeout(RELEASE_WITHIN_MS)]);
    let count = 0;
    let remaining = 0;
    try {
      for await (const released of redeliverUndelivered(context.db, accountId, channelId, range)) {
        hintDeliveries(context, released.ids.slice(0, Math.max(0, MAX_HINTS - count)));
        count += released.ids.length;
        remaining = released.remaining;
        if (ending.aborted) break;
      }
    } catch (error) {
      // Somebody disabled the channel meanwhile. What was released before is told; the next request says why the rest was not.
      if (count === 0 || !(error instanceof AppError)) throw error;
    }
    const result: RedeliveryResult = { count, more: remaining > 0 };
    if (result.more) res.set('Retry-After', '1');
    res.status(202).json(result);
  };
}
