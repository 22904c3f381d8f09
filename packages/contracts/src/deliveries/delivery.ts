import { z } from 'zod';
import { parseTimestamp } from '../fields.ts';
import { pageLimit } from '../monitors/events.ts';
import { DELIVERY_STATES, WEBHOOK_EVENTS } from '../vocabulary.ts';

const timestamp = z.iso.datetime({ precision: 3 });

/** One delivery as a line of the log (design §3 "Dashboard API"). */
export const deliverySchema = z
  .strictObject({
    id: z.uuid(),
    event: z.enum(WEBHOOK_EVENTS),
    monitorId: z.string().describe('`test` of a test event.'),
    state: z
      .enum(DELIVERY_STATES)
      .describe(
        '`pending`: an attempt is due; `failed`: given up after 72 hours or a 410; `held`: its channel is disabled.',
      ),
    timestamp: timestamp.describe('The stamp of the webhook event.'),
    createdAt: timestamp,
    deliveredAt: timestamp.nullable().describe('When the receiver first answered 2xx.'),
    nextAttemptAt: timestamp.nullable().describe('When it is tried next; null where it is not.'),
    attemptCount: z.int().min(0),
    test: z.boolean().describe('Whether it is a test event.'),
  })
  .meta({ id: 'Delivery', description: 'One webhook event to one channel.' });
export type Delivery = z.infer<typeof deliverySchema>;

/** What one attempt came to; `statusCode` is null without an answer, `error` after a 2xx. */
const attemptSchema = z
  .strictObject({
    startedAt: timestamp,
    durationMs: z.int().min(0),
    statusCode: z.int().nullable().describe('What the receiver answered; null without an answer.'),
    error: z.string().nullable().describe('What went wrong; null after a 2xx.'),
    responseExcerpt: z.string().nullable().describe('The beginning of what the receiver said.'),
  })
  .meta({ id: 'Attempt', description: 'What one attempt to send a webhook came to.' });
export type Attempt = z.infer<typeof attemptSchema>;

/** A delivery with the very text that every attempt sends, and every attempt in order. */
export const deliveryDetailSchema = deliverySchema
  .extend({
    payload: z.string().describe('The very text that every attempt sends.'),
    attempts: z
      .array(attemptSchema.extend({ number: z.int().min(1) }).meta({ id: 'DeliveryAttempt' }))
      .describe('In the order in which they were made.'),
  })
  .meta({ id: 'DeliveryDetail', description: 'A delivery with what is sent, and every attempt.' });
export type DeliveryDetail = z.infer<typeof deliveryDetailSchema>;

/** Answer of "test a channel". */
export const channelTestSchema = z
  .strictObject({
    attempt: attemptSchema,
    delivered: z.boolean().describe('Whether the receiver answered 2xx.'),
  })
  .meta({ id: 'ChannelTest' });

/** Where a page of a list goes on: the id of the last row of the page before. */
export const pageBefore = z
  .uuid({ error: 'must be the id of the last entry that you have' })
  .optional()
  .describe('For the next page: the id of the last entry that you have.');

/** Query of a channel's delivery log. */
export const deliveriesQuerySchema = z.object({
  state: z
    .enum(DELIVERY_STATES, { error: `must be one of ${DELIVERY_STATES.join(', ')}` })
    .optional()
    .describe('Only those in this state.'),
  limit: pageLimit,
  before: pageBefore,
});
export type DeliveriesQuery = z.infer<typeof deliveriesQuerySchema>;

const instant = z
  .string({ error: (issue) => (issue.input === undefined ? 'is required' : 'must be a string') })
  .transform((text, context) => {
    const date = parseTimestamp(text);
    if (date !== null) return date;
    context.addIssue({
      code: 'custom',
      message: 'must be an ISO 8601 timestamp with an offset, such as 2026-01-31T12:00:00.000Z',
    });
    return z.NEVER;
  })
  .meta({ format: 'date-time' });

/** Body of "redeliver a channel's undelivered ones": stamps from `since` on, before `until`. */
export const redeliverySchema = z
  .strictObject({
    since: instant.describe('The first stamp of a webhook event that counts.'),
    until: instant.describe('The first that counts no more; later than `since`.'),
  })
  .refine(({ since, until }) => since < until, { path: ['until'], error: 'must be later than since' })
  .meta({ id: 'Redelivery' });

/** Response of "redeliver a channel's undelivered ones". */
export const redeliveryResultSchema = z
  .strictObject({
    count: z.int().min(0).describe('How many deliveries this request made due again.'),
    more: z.boolean().describe('Whether others are still to be made due. The same request continues.'),
  })
  .meta({ id: 'RedeliveryResult' });
export type RedeliveryResult = z.infer<typeof redeliveryResultSchema>;
