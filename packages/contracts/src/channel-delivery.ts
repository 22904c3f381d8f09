import { z } from 'zod';
import { pageLimit } from './events-query.ts';
import { parseTimestamp } from './timestamp.ts';
import { DELIVERY_STATES, WEBHOOK_EVENTS } from './vocabulary.ts';

const timestamp = z.iso.datetime({ precision: 3 });

/** One delivery as a line of the log (design §3 "Dashboard API"). */
export const deliverySchema = z
  .strictObject({
    id: z.uuid(),
    event: z.enum(WEBHOOK_EVENTS),
    /** `test` of a test event. */
    monitorId: z.string(),
    state: z.enum(DELIVERY_STATES),
    /** The stamp of the webhook event. */
    timestamp,
    createdAt: timestamp,
    deliveredAt: timestamp.nullable(),
    nextAttemptAt: timestamp.nullable(),
    attemptCount: z.int().min(0),
    test: z.boolean(),
  })
  .meta({ id: 'Delivery' });
export type Delivery = z.infer<typeof deliverySchema>;

/** What one attempt came to; `statusCode` is null without an answer, `error` after a 2xx. */
const attemptSchema = z
  .strictObject({
    startedAt: timestamp,
    durationMs: z.int().min(0),
    statusCode: z.int().nullable(),
    error: z.string().nullable(),
    responseExcerpt: z.string().nullable(),
  })
  .meta({ id: 'Attempt' });
export type Attempt = z.infer<typeof attemptSchema>;

/** A delivery with the very text that every attempt sends, and every attempt in order. */
export const deliveryDetailSchema = deliverySchema
  .extend({
    payload: z.string(),
    attempts: z.array(attemptSchema.extend({ number: z.int().min(1) })),
  })
  .meta({ id: 'DeliveryDetail' });
export type DeliveryDetail = z.infer<typeof deliveryDetailSchema>;

/** Answer of "test a channel". */
export const channelTestSchema = z
  .strictObject({ attempt: attemptSchema, delivered: z.boolean() })
  .meta({ id: 'ChannelTest' });

/** Where a page of a list goes on: the id of the last row of the page before. */
export const pageBefore = z.uuid({ error: 'must be the id of the last entry that you have' }).optional();

/** Query of a channel's delivery log. */
export const deliveriesQuerySchema = z.object({
  state: z.enum(DELIVERY_STATES, { error: `must be one of ${DELIVERY_STATES.join(', ')}` }).optional(),
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
  });

/** Body of "redeliver a channel's undelivered ones": stamps from `since` on, before `until`. */
export const redeliverySchema = z
  .strictObject({ since: instant, until: instant })
  .refine(({ since, until }) => since < until, { path: ['until'], error: 'must be later than since' });
