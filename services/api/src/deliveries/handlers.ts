import { deliveryRoutes } from '@tocsin/contracts/deliveries/routes';
import type {
  DeliveryDetail,
  RedeliveryResult,
  RedeliveryScope,
} from '@tocsin/contracts/deliveries/delivery';
import { AppError } from '@tocsin/contracts/errors';
import { findChannelRow } from '@tocsin/db/channels/read-channels';
import { discardHeldDeliveries, readHeldDeliveries } from '@tocsin/db/deliveries/hold-deliveries';
import { getDelivery, listDeliveries } from '@tocsin/db/deliveries/read-deliveries';
import { redeliver, redeliverUndelivered } from '@tocsin/db/deliveries/redeliver';
import type { Response } from 'express';
import type { ApiContext } from '../context.ts';
import { implement } from '../http/implement.ts';
import type { Caller } from '../http/request-state.ts';
import { hintDeliveries } from '../queue-hints.ts';

/** One request changes deliveries for at most this long, because its client waits. */
const CHANGE_WITHIN_MS = 10_000;

export const deliveryApi = implement(deliveryRoutes, (context) => {
  const { db } = context;
  return {
    listDeliveries: async ({ caller, id, query }) => {
      await findChannelRow(db, caller.accountId, id);
      return { deliveries: await listDeliveries(db, id, query) };
    },
    redeliverChannel: async ({ caller, id, body, res }) => {
      await findChannelRow(db, caller.accountId, id);
      return changeInParts(context, res, redeliverInParts(context, caller, id, body));
    },
    getHeldDeliveries: async ({ caller, id }) => {
      await findChannelRow(db, caller.accountId, id);
      return { held: await readHeldDeliveries(db, id) };
    },
    discardHeldDeliveries: ({ caller, id, res }) =>
      changeInParts(context, res, discardHeldDeliveries(db, caller, id)),
    getDelivery: async ({ caller, id }) => {
      const delivery = await getDelivery(db, caller.accountId, id);
      return { delivery: caller.role === 'viewer' ? withoutResponses(delivery) : delivery };
    },
    redeliver: async ({ caller, id }) => {
      const delivery = await redeliver(db, caller, id);
      hintDeliveries(context, [delivery.id]);
      return { delivery };
    },
  };
});

function withoutResponses(delivery: DeliveryDetail): DeliveryDetail {
  const attempts = delivery.attempts.map((attempt) => ({ ...attempt, responseExcerpt: null }));
  return { ...delivery, attempts };
}

/** Sums up the parts of a change. If time runs out, the response has `more: true`. Repeat the request to continue. */
async function changeInParts(
  { shutdown }: ApiContext,
  res: Response,
  parts: AsyncIterable<RedeliveryResult>,
): Promise<RedeliveryResult> {
  const ending = AbortSignal.any([shutdown, AbortSignal.timeout(CHANGE_WITHIN_MS)]);
  let count = 0;
  let more = false;
  try {
    for await (const part of parts) {
      count += part.count;
      more = part.more;
      if (ending.aborted) break;
    }
  } catch (error) {
    // The channel was disabled or deleted meanwhile. The next request reports that.
    if (count === 0 || !(error instanceof AppError)) throw error;
  }
  if (more) res.set('Retry-After', '1');
  return { count, more };
}

async function* redeliverInParts(
  context: ApiContext,
  caller: Caller,
  id: string,
  scope: RedeliveryScope,
): AsyncGenerator<RedeliveryResult> {
  for await (const { ids, remaining } of redeliverUndelivered(context.db, caller, id, scope)) {
    // One hint wakes a notifier, which finds them all.
    hintDeliveries(context, ids.slice(0, 1));
    yield { count: ids.length, more: remaining > 0 };
  }
}
