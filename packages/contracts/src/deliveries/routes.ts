import { z } from 'zod';
import { ATTEMPT, DELIVERY, WEBHOOK } from '../routes/examples.ts';
import { defineRoutes, noFields, withDashboard } from '../routes/route.ts';
import {
  deliveriesQuerySchema,
  deliveryDetailSchema,
  deliverySchema,
  discardResultSchema,
  heldDeliveriesSchema,
  redeliveryResultSchema,
  redeliverySchema,
} from './delivery.ts';

const sharedRoutes = defineRoutes(
  { tag: 'Deliveries', access: 'write key' },
  {
    listDeliveries: {
      access: 'key',
      endpoint: 'GET /api/cli/channels/:id/deliveries',
      summary: 'List deliveries of a channel',
      description: 'Newest first.',
      resource: 'channel',
      query: deliveriesQuerySchema,
      response: z.strictObject({ deliveries: z.array(deliverySchema) }),
      responseExample: { deliveries: [DELIVERY] },
    },
    redeliverChannel: {
      endpoint: 'POST /api/cli/channels/:id/redeliver',
      summary: 'Redeliver to a channel',
      description:
        'Makes every delivery in one of the `states` with a timestamp in the range due at once, in order, except test events and deliveries being sent. A request takes about ten seconds at most. If deliveries are left, `more` is `true` and the response has `Retry-After`: repeat the request.',
      resource: 'channel',
      body: redeliverySchema,
      bodyExample: { since: '2026-11-20T00:00:00Z', until: '2026-11-21T00:00:00Z' },
      status: 202,
      response: redeliveryResultSchema,
      responseExample: { count: 3, more: false },
      errors: ['conflict'],
    },
    getHeldDeliveries: {
      access: 'key',
      endpoint: 'GET /api/cli/channels/:id/held-deliveries',
      summary: 'Count the held deliveries of a channel',
      description: 'To send them, redeliver to the channel from `since` on, with `states` `["held"]`.',
      resource: 'channel',
      response: z.strictObject({ held: heldDeliveriesSchema }),
      responseExample: { held: { count: 12, since: '2026-11-20T12:00:00.123Z' } },
    },
    discardHeldDeliveries: {
      endpoint: 'POST /api/cli/channels/:id/held-deliveries/discard',
      summary: 'Discard the held deliveries of a channel',
      description:
        'Marks them as `failed`. They stay in the log, and can be redelivered. A request takes about ten seconds at most. If deliveries are left, `more` is `true` and the response has `Retry-After`: repeat the request.',
      resource: 'channel',
      body: noFields,
      response: discardResultSchema,
      responseExample: { count: 12, more: false },
    },
    getDelivery: {
      endpoint: 'GET /api/cli/deliveries/:id',
      summary: 'Get a delivery',
      description:
        'An API key needs the scope `write`, because responses of receivers may contain credentials.',
      resource: 'delivery',
      response: z.strictObject({ delivery: deliveryDetailSchema }),
      responseExample: {
        delivery: {
          ...DELIVERY,
          payload: JSON.stringify(WEBHOOK),
          formatError: null,
          attempts: [{ ...ATTEMPT, number: 1 }],
        },
      },
    },
    redeliver: {
      endpoint: 'POST /api/cli/deliveries/:id/redeliver',
      summary: 'Redeliver a delivery',
      description:
        'Sends the same bytes at once and restarts the retry schedule. Returns 409 while an attempt is in progress or the channel is disabled.',
      resource: 'delivery',
      body: noFields,
      status: 202,
      response: z.strictObject({ delivery: deliverySchema }),
      responseExample: {
        delivery: { ...DELIVERY, state: 'pending', nextAttemptAt: '2026-11-20T12:30:00.000Z' },
      },
      errors: ['conflict'],
    },
  },
);

export const deliveryRoutes = withDashboard(sharedRoutes);
