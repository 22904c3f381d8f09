import { z } from 'zod';
import { component, HIDDEN_SECRET, instant, oneOf, pageBefore, pageLimit, timestamp } from '../fields.ts';
import { DELIVERY_STATES, WEBHOOK_EVENTS } from '../vocabulary.ts';

export const deliverySchema = component('Delivery', 'One webhook event to one channel.', {
  id: z.uuid(),
  event: z.enum(WEBHOOK_EVENTS),
  monitorId: z.string().describe('`test` for a test event.'),
  state: z
    .enum(DELIVERY_STATES)
    .describe(
      '`pending`: an attempt is due; `failed`: abandoned after 72 hours or a 410, discarded while it was held, or obsolete before it was sent; `held`: its channel is disabled.',
    ),
  timestamp: timestamp.describe('The timestamp of the webhook event.'),
  createdAt: timestamp,
  deliveredAt: timestamp.nullable().describe('When the receiver first responded with 2xx.'),
  nextAttemptAt: timestamp.nullable().describe('When the next attempt is due; null if none is.'),
  attemptCount: z.int().min(0),
  test: z.boolean().describe('Whether it is a test event.'),
});
export type Delivery = z.infer<typeof deliverySchema>;

const attemptSchema = component('Attempt', 'An attempt to send a webhook.', {
  startedAt: timestamp,
  durationMs: z.int().min(0),
  statusCode: z.int().nullable().describe('Status code of the response; null without a response.'),
  error: z.string().nullable().describe('What failed; null after a 2xx.'),
  responseExcerpt: z.string().nullable().describe('The beginning of the response body. Null for viewers.'),
});
export type Attempt = z.infer<typeof attemptSchema>;

export const deliveryDetailSchema = deliverySchema
  .extend({
    payload: z
      .string()
      .describe(
        `The exact body that every attempt sends, except that it contains \`${HIDDEN_SECRET}\` in place of a routing key.`,
      ),
    formatError: z
      .string()
      .nullable()
      .describe(
        'Why the template of its channel failed, so that the standard payload is sent; null otherwise.',
      ),
    attempts: z
      .array(attemptSchema.extend({ number: z.int().min(1) }).meta({ id: 'DeliveryAttempt' }))
      .describe('The last 500 attempts, in chronological order.'),
  })
  .meta({ id: 'DeliveryDetail', description: 'A delivery with its body and attempts.' });
export type DeliveryDetail = z.infer<typeof deliveryDetailSchema>;

export const channelTestSchema = component('ChannelTest', {
  attempt: attemptSchema,
  delivered: z.boolean().describe('Whether the receiver responded with 2xx.'),
});

export const deliveriesQuerySchema = z.object({
  state: z
    .enum(DELIVERY_STATES, { error: `must be one of ${DELIVERY_STATES.join(', ')}` })
    .optional()
    .describe('Only those in this state.'),
  limit: pageLimit,
  before: pageBefore,
});
export type DeliveriesQuery = z.infer<typeof deliveriesQuerySchema>;

/** States of a delivery that has not reached the receiver. */
export const UNDELIVERED_STATES = ['held', 'failed', 'pending'] as const;

export const redeliverySchema = component('Redelivery', {
  since: instant().describe('The first timestamp included.'),
  until: instant().describe('The first timestamp excluded; later than `since`.'),
  states: z
    .array(oneOf(UNDELIVERED_STATES), { error: 'must be an array of states' })
    .min(1, { error: 'must contain at least one state' })
    .default([...UNDELIVERED_STATES])
    .describe('Only deliveries in one of these states.'),
}).refine(({ since, until }) => since < until, { path: ['until'], error: 'must be later than since' });
/** Without `states`, includes all of them. */
export type RedeliveryScope = Omit<z.output<typeof redeliverySchema>, 'states'> & {
  readonly states?: readonly (typeof UNDELIVERED_STATES)[number][];
};

export const redeliveryResultSchema = component('RedeliveryResult', {
  count: z.int().min(0).describe('How many deliveries this request made due.'),
  more: z.boolean().describe('Whether deliveries remain. Repeat the same request to continue.'),
});
export type RedeliveryResult = z.infer<typeof redeliveryResultSchema>;

/** The count of held deliveries stops here. */
export const MAX_HELD_COUNT = 100_000;

export const heldDeliveriesSchema = component('HeldDeliveries', 'What a channel holds for a redelivery.', {
  count: z.int().min(0).max(MAX_HELD_COUNT).describe(`At most ${MAX_HELD_COUNT}, even if there are more.`),
  since: timestamp.nullable().describe('The first timestamp of these; null if there are none.'),
});

export const discardResultSchema = component('DiscardResult', {
  count: z.int().min(0).describe('How many deliveries this request discarded.'),
  more: z.boolean().describe('Whether held deliveries remain. Repeat the same request to continue.'),
});
