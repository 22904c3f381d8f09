import { z } from 'zod';
import { component, timestamp } from '../fields.ts';
import { errorReasonSchema } from '../monitors/events.ts';
import { WEBHOOK_EVENTS } from '../vocabulary.ts';

export const WEBHOOK_USER_AGENT = 'Service/1.0';

/** The receiver must respond with 2xx within this time. */
export const WEBHOOK_DEADLINE_MS = 5_000;

export const webhookPayloadSchema = component(
  'WebhookPayload',
  'The body of a webhook: the same bytes on every attempt.',
  {
    event: z.enum(WEBHOOK_EVENTS),
    monitorId: z.string().describe('`test` for a test event.'),
    monitorName: z.string(),
    status: z.enum(['UP', 'DOWN', 'MAINTENANCE']).describe('The new status.'),
    previousStatus: z.enum(['PENDING', 'UP', 'DOWN', 'MAINTENANCE']).describe('The status just before.'),
    latency: z
      .int()
      .min(0)
      .describe(
        'Milliseconds of the check; 0 without a check or a response, except for a `TIMEOUT` after connecting.',
      ),
    errorReason: errorReasonSchema
      .nullable()
      .describe('Why the check failed; null if the monitor is not `DOWN`.'),
    region: z.string().describe('Code of the region of the check.'),
    timestamp: timestamp.describe('Identifies the event together with `monitorId`.'),
    runbookUrl: z.string().nullable().describe('Runbook URL of the monitor, or null.'),
  },
);
export type WebhookPayload = z.infer<typeof webhookPayloadSchema>;
