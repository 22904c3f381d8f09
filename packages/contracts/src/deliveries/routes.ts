import { ATTEMPT, DELIVERY, WEBHOOK } from '../routes/examples.ts';
import { DASHBOARD, many, nothing, one } from '../routes/route.ts';
import type { Operations } from '../routes/route.ts';
import {
  deliveriesQuerySchema,
  deliveryDetailSchema,
  deliverySchema,
  redeliveryResultSchema,
  redeliverySchema,
} from './delivery.ts';

const tag = 'Deliveries';

/** What was sent to channels (design §3 "Dashboard API"). */
export const deliveryOperations: Operations = {
  [`GET ${DASHBOARD}/channels/:id/deliveries`]: {
    id: 'listDeliveries',
    tag,
    summary: 'List deliveries of a channel',
    description: 'The newest first.',
    needs: 'member',
    kind: 'channel',
    query: deliveriesQuerySchema,
    ok: 200,
    answer: many('deliveries', deliverySchema),
    answerExample: { deliveries: [DELIVERY] },
  },
  [`POST ${DASHBOARD}/channels/:id/redeliver`]: {
    id: 'redeliverChannel',
    tag,
    summary: 'Send what a channel did not get again',
    description:
      'Every `held`, `failed` or `pending` delivery with a stamp in the range is due at once, in order; not test events, nor what is being sent just now. A request takes some ten seconds at most. If deliveries are left then, `more` is `true` and the response has `Retry-After`: repeat the request.',
    needs: 'member',
    kind: 'channel',
    body: redeliverySchema,
    bodyExample: { since: '2026-11-20T00:00:00Z', until: '2026-11-21T00:00:00Z' },
    ok: 202,
    answer: redeliveryResultSchema,
    answerExample: { count: 3, more: false },
    refusals: ['conflict'],
  },
  [`GET ${DASHBOARD}/deliveries/:id`]: {
    id: 'getDelivery',
    tag,
    summary: 'Get a delivery',
    needs: 'member',
    kind: 'delivery',
    ok: 200,
    answer: one('delivery', deliveryDetailSchema),
    answerExample: {
      delivery: { ...DELIVERY, payload: JSON.stringify(WEBHOOK), attempts: [{ ...ATTEMPT, number: 1 }] },
    },
  },
  [`POST ${DASHBOARD}/deliveries/:id/redeliver`]: {
    id: 'redeliver',
    tag,
    summary: 'Send a delivery again',
    description:
      'The same bytes, at once, with the retry schedule from its beginning. 409 while an attempt is under way, or while the channel is disabled.',
    needs: 'member',
    kind: 'delivery',
    body: nothing,
    ok: 202,
    answer: one('delivery', deliverySchema),
    answerExample: {
      delivery: { ...DELIVERY, state: 'pending', nextAttemptAt: '2026-11-20T12:30:00.000Z' },
    },
    refusals: ['conflict'],
  },
};
