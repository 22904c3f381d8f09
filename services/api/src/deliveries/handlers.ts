import { deliveryRoutes } from '@tocsin/contracts/deliveries/routes';
import type { DeliveryDetail, DiscardResult, RedeliveryResult } from '@tocsin/contracts/deliveries/delivery';
import { AppError } from '@tocsin/contracts/errors';
import { findChannelRow } from '@tocsin/db/channels/read-channels';
import { discardHeldDeliveries, readHeldDeliveries } from '@tocsin/db/deliveries/hold-deliveries';
import { getDelivery, listDeliveries } from '@tocsin/db/deliveries/read-deliveries';
import { redeliver, redeliverUndelivered } from '@tocsin/db/deliveries/redeliver';
import type { ApiContext } from '../context.ts';
import { type ApiRequest, implement } from '../http/implement.ts';
import { hintDeliveries } from '../queue-hints.ts';

/** One request changes deliveries for at most this long, because its client waits. */
const CHANGE_WITHIN_MS = 10_000;
/** The relay finds the rest. */
const MAX_HINTS = 1_000;

export const deliveryApi = implement(deliveryRoutes, (context) => {
  const { db } = context;
  return {
    listDeliveries: async ({ caller, id, query }) => {
      await findChannelRow(db, caller.accountId, id);
      return { deliveries: await listDeliveries(db, id, query) };
    },
    redeliverChannel: (request) => redeliverChannel(context, request),
    getHeldDeliveries: async ({ caller, id }) => {
      await findChannelRow(db, caller.accountId, id);
      return { held: await readHeldDeliveries(db, id) };
    },
    discardHeldDeliveries: (request) => discardHeld(context, request),
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

/** Makes undelivered deliveries due again. If time runs out, the response has `more: true`. Repeat the request to continue. */
async function redeliverChannel(
  context: ApiContext,
  {
    caller,
    id,
    body,
    res,
  }: Pick<ApiRequest<typeof deliveryRoutes.redeliverChannel>, 'caller' | 'id' | 'body' | 'res'>,
): Promise<RedeliveryResult> {
  const { db, shutdown } = context;
  await findChannelRow(db, caller.accountId, id);
  const ending = AbortSignal.any([shutdown, AbortSignal.timeout(CHANGE_WITHIN_MS)]);
  let count = 0;
  let remaining = 0;
  try {
    for await (const released of redeliverUndelivered(db, caller, id, body)) {
      hintDeliveries(context, released.ids.slice(0, Math.max(0, MAX_HINTS - count)));
      count += released.ids.length;
      remaining = released.remaining;
      if (ending.aborted) break;
    }
  } catch (error) {
    // The channel was disabled meanwhile. The next request reports that.
    if (count === 0 || !(error instanceof AppError)) throw error;
  }
  if (remaining > 0) res.set('Retry-After', '1');
  return { count, more: remaining > 0 };
}

/** Discards held deliveries, in parts like a redelivery. */
async function discardHeld(
  { db, shutdown }: ApiContext,
  { caller, id, res }: Pick<ApiRequest<typeof deliveryRoutes.discardHeldDeliveries>, 'caller' | 'id' | 'res'>,
): Promise<DiscardResult> {
  const ending = AbortSignal.any([shutdown, AbortSignal.timeout(CHANGE_WITHIN_MS)]);
  let count = 0;
  let more = false;
  for await (const discarded of discardHeldDeliveries(db, caller, id)) {
    count += discarded.count;
    more = discarded.more;
    if (ending.aborted) break;
  }
  if (more) res.set('Retry-After', '1');
  return { count, more };
}
