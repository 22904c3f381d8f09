import { z } from 'zod';

/** A JSON schema of an object without other fields than these. */
function object(required: Record<string, object>, optional: Record<string, object> = {}): object {
  return {
    type: 'object',
    properties: { ...required, ...optional },
    required: Object.keys(required),
    additionalProperties: false,
  };
}

const list = (items: object, limits: object = {}): object => ({ type: 'array', items, ...limits });
const is = (value: string): object => ({ const: value });
const string = { type: 'string' };
const uri = { type: 'string', format: 'uri' };
const time = { type: 'string', format: 'date-time' };
const strings = { type: 'object', additionalProperties: string };
const schemaOf = (schema: object): z.ZodType => z.fromJSONSchema({ ...schema });

const slackText = (type: string, maxLength: number): object =>
  object(
    { type: is(type), text: { type: 'string', minLength: 1, maxLength } },
    type === 'plain_text' ? { emoji: { type: 'boolean' } } : {},
  );
/** Limits of https://docs.slack.dev/reference/block-kit/blocks. */
export const slackSchema = schemaOf(
  object({
    text: { type: 'string', minLength: 1, maxLength: 40_000 },
    blocks: list(
      {
        anyOf: [
          object({ type: is('header'), text: slackText('plain_text', 150) }),
          object({ type: is('section'), text: slackText('mrkdwn', 3_000) }),
          object({
            type: is('section'),
            fields: list(slackText('mrkdwn', 2_000), { minItems: 1, maxItems: 10 }),
          }),
        ],
      },
      { maxItems: 50 },
    ),
  }),
);

/** Parts of https://adaptivecards.io/schemas/1.5.0/adaptive-card.json. Workflows accept at most 28 KiB. */
const card = object({
  $schema: uri,
  type: is('AdaptiveCard'),
  version: { enum: ['1.4', '1.5'] },
  body: list({
    anyOf: [
      object({
        type: is('RichTextBlock'),
        inlines: list(
          object({
            type: is('TextRun'),
            text: string,
            size: { enum: ['default', 'small', 'medium', 'large', 'extraLarge'] },
            weight: { enum: ['default', 'lighter', 'bolder'] },
            color: { enum: ['default', 'dark', 'light', 'accent', 'good', 'warning', 'attention'] },
          }),
        ),
      }),
      object({ type: is('FactSet'), facts: list(object({ title: string, value: string })) }),
    ],
  }),
  actions: list(object({ type: is('Action.OpenUrl'), title: string, url: uri })),
});
const attachment = object({
  contentType: is('application/vnd.microsoft.card.adaptive'),
  contentUrl: { type: 'null' },
  content: card,
});
export const teamsSchema = schemaOf(
  object({ type: is('message'), attachments: list(attachment, { minItems: 1 }) }),
).refine((message) => Buffer.byteLength(JSON.stringify(message)) <= 28 * 1_024);

/** `POST /enqueue` of https://developer.pagerduty.com/api-reference. */
const target = { routing_key: string, dedup_key: { type: 'string', minLength: 1, maxLength: 255 } };
export const pagerDutySchema = schemaOf({
  anyOf: [
    object({ ...target, event_action: { enum: ['acknowledge', 'resolve'] } }),
    object(
      {
        ...target,
        event_action: is('trigger'),
        payload: object(
          {
            summary: { type: 'string', minLength: 1, maxLength: 1_024 },
            severity: { enum: ['critical', 'warning', 'error', 'info'] },
            source: { type: 'string', minLength: 1 },
          },
          {
            timestamp: time,
            component: string,
            group: string,
            class: string,
            custom_details: { type: 'object' },
          },
        ),
      },
      { client: string, client_url: uri, links: list(object({ href: uri }, { text: string })) },
    ),
  ],
});

/** `postableAlerts` of Alertmanager's `api/v2/openapi.yaml`. */
export const alertmanagerSchema = schemaOf(
  list(
    object({ labels: strings }, { annotations: strings, startsAt: time, endsAt: time, generatorURL: uri }),
    { minItems: 1 },
  ),
);
