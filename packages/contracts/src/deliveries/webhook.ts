import { z } from 'zod';
import { errorReasonSchema } from '../monitors/events.ts';
import { WEBHOOK_EVENTS } from '../vocabulary.ts';

/** The fixed product token of every webhook (specification "Delivery rules" 5). */
export const WEBHOOK_USER_AGENT = 'Service/1.0';

/** The receiver must answer 2xx within this time (specification "Delivery rules" 3). */
export const WEBHOOK_DEADLINE_MS = 5_000;

/** The payload, exactly the specification's table, in its order. */
export const webhookPayloadSchema = z
  .strictObject({
    event: z.enum(WEBHOOK_EVENTS),
    monitorId: z.string().describe('`test` of a test event.'),
    monitorName: z.string(),
    status: z.enum(['UP', 'DOWN', 'MAINTENANCE']).describe('The new status.'),
    previousStatus: z.enum(['PENDING', 'UP', 'DOWN', 'MAINTENANCE']).describe('The status just before.'),
    latency: z
      .int()
      .min(0)
      .describe('Milliseconds of the check behind it; 0 where no answer began, or no check is behind it.'),
    errorReason: errorReasonSchema
      .nullable()
      .describe('Why the check failed; null where the monitor is not `DOWN`.'),
    region: z.string().describe('Code of the region behind it.'),
    timestamp: z.iso
      .datetime({ precision: 3 })
      .describe('Together with `monitorId` it tells this event from all others.'),
    runbookUrl: z.string().nullable().describe('Of the monitor; null if it has none.'),
  })
  .meta({
    id: 'WebhookPayload',
    description: 'What a receiver gets: the same to the byte on every attempt.',
  });
export type WebhookPayload = z.infer<typeof webhookPayloadSchema>;
