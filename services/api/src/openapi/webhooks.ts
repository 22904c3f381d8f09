import {
  WEBHOOK_DEADLINE_MS,
  WEBHOOK_USER_AGENT,
  type WebhookPayload,
  webhookPayloadSchema,
} from '@tocsin/contracts/deliveries/webhook';
import { WEBHOOK } from '@tocsin/contracts/routes/examples';
import type { WebhookEvent } from '@tocsin/contracts/vocabulary';
import type { JsonObject, SchemaBook } from './schemas.ts';

/** `example` lists the differences from `monitor.down`. */
interface Kind {
  readonly summary: string;
  readonly example: Partial<WebhookPayload>;
}

const recovered = { status: 'UP', previousStatus: 'DOWN', errorReason: null } as const;

const KINDS: Readonly<Record<WebhookEvent, Kind>> = {
  'monitor.down': { summary: 'A monitor failed and crossed its threshold', example: {} },
  'monitor.up': { summary: 'A monitor recovered', example: recovered },
  'monitor.maintenance': {
    summary: 'A maintenance window began',
    example: { status: 'MAINTENANCE', previousStatus: 'UP', latency: 0, errorReason: null },
  },
  'incident.created': { summary: 'An incident was opened', example: {} },
  'incident.resolved': {
    summary: 'An incident was resolved, or its monitor was deleted',
    example: recovered,
  },
};

const header = (name: string, description: string, schema: JsonObject = { type: 'string' }): JsonObject => ({
  name,
  in: 'header',
  required: true,
  description,
  schema,
});

const SIGNATURE_HEADERS = [
  header('webhook-id', 'Identifies the delivery: the same on every attempt.'),
  header('webhook-timestamp', 'When this attempt was made, in Unix seconds.', {
    type: 'string',
    pattern: String.raw`^\d+$`,
  }),
  header(
    'webhook-signature',
    "Signed with the channel's secret as [Standard Webhooks](https://www.standardwebhooks.com) defines. Two signatures, separated by a space, for 24 hours after a rotation.",
    { type: 'string', pattern: '^v1,' },
  ),
  header('User-Agent', 'Always the same.', { const: WEBHOOK_USER_AGENT }),
];

const RESPONSES = {
  '2XX': { description: `Received. Respond within ${WEBHOOK_DEADLINE_MS / 1_000} seconds.` },
  '410': { description: 'Gone: the channel is disabled.' },
  default: {
    description:
      'Any other response is a failure, including a redirect. The delivery is retried for up to 72 hours with increasing delays. The `Retry-After` of a 429 or 503 is honored, up to an hour.',
  },
} as const;

/** The webhooks by event (docs/webhooks.md). */
export function writeWebhooks(schemas: SchemaBook): JsonObject {
  const payload = schemas.write(webhookPayloadSchema, 'output');
  return Object.fromEntries(
    Object.entries(KINDS).map(([event, { summary, example }]) => [
      event,
      {
        post: {
          operationId: `receive${event.replaceAll(/(?:^|\.)([a-z])/g, (_, letter: string) => letter.toUpperCase())}`,
          tags: ['Webhooks'],
          summary,
          description:
            'Sent at least once to each channel of the monitor. `monitorId` and `timestamp` identify the event.',
          security: [],
          parameters: SIGNATURE_HEADERS,
          requestBody: {
            required: true,
            content: {
              'application/json': {
                schema: { allOf: [payload, { properties: { event: { const: event } } }] },
                example: { ...WEBHOOK, ...example, event },
              },
            },
          },
          responses: RESPONSES,
        },
      },
    ]),
  );
}
