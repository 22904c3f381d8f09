import { z } from 'zod';
import { LIMITS } from './limits.ts';
import { parseTimestamp } from './timestamp.ts';

/** How many rows a list gives: capped, not refused, above the most. */
export const pageLimit = z
  .string({ error: 'must be given once' })
  .regex(/^\d{1,15}$/, { error: 'must be an integer of at least 1' })
  .transform(Number)
  .refine((count) => count >= 1, { error: 'must be an integer of at least 1' })
  .transform((count) => Math.min(count, LIMITS.eventsPerRequest.max))
  .default(LIMITS.eventsPerRequest.default)
  .meta({
    type: 'integer',
    pattern: undefined,
    minimum: 1,
    default: LIMITS.eventsPerRequest.default,
    description: `How many at most. Above ${LIMITS.eventsPerRequest.max} it counts as ${LIMITS.eventsPerRequest.max}.`,
  });

const since = z
  .string({ error: 'must be given once' })
  .transform((text, context) => {
    const date = parseTimestamp(text);
    if (date !== null) return date;
    context.addIssue({
      code: 'custom',
      message:
        'must be an ISO 8601 timestamp with an offset, such as 2026-01-31T12:00:00.000Z (write + as %2B in a query)',
    });
    return z.NEVER;
  })
  .meta({
    format: 'date-time',
    description:
      'Only what was recorded later: an ISO 8601 timestamp with an offset. To tail, pass the `timestamp` of the last event you have.',
  });

/** Query of "list monitor events": `limit` is capped, not refused, above 500; `since` is exclusive (design §3). */
export const eventsQuerySchema = z.object({
  limit: pageLimit,
  since: since.optional(),
});
export type EventsQuery = z.infer<typeof eventsQuerySchema>;
