import { z } from 'zod';
import { errorReasonSchema } from './event.ts';
import { WEBHOOK_EVENTS } from './vocabulary.ts';

/** The fixed product token of every webhook (specification "Delivery rules" 5). */
export const WEBHOOK_USER_AGENT = 'Service/1.0';

/** The receiver must answer 2xx within this time (specification "Delivery rules" 3). */
export const WEBHOOK_DEADLINE_MS = 5_000;

/** The payload, exactly the specification's table, in its order. */
export const webhookPayloadSchema = z
  .strictObject({
    event: z.enum(WEBHOOK_EVENTS),
    monitorId: z.string(),
    monitorName: z.string(),
    status: z.enum(['UP', 'DOWN', 'MAINTENANCE']),
    previousStatus: z.enum(['PENDING', 'UP', 'DOWN', 'MAINTENANCE']),
    latency: z.int().min(0),
    errorReason: errorReasonSchema.nullable(),
    region: z.string(),
    timestamp: z.iso.datetime({ precision: 3 }),
    runbookUrl: z.string().nullable(),
  })
  .meta({ id: 'WebhookPayload' });
export type WebhookPayload = z.infer<typeof webhookPayloadSchema>;
