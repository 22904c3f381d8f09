import { z } from 'zod';
import type { FieldError } from '../errors.ts';
import {
  boundedInteger,
  clientKey,
  component,
  etag,
  flag,
  HIDDEN_ERROR,
  HIDDEN_SECRET,
  httpsUrl,
  identifiers,
  idOf,
  label,
  monitorIdList,
  oneOf,
  sourceFilter,
  storableText,
  timestamp,
} from '../fields.ts';
import { selectorSchema } from '../labels/selector.ts';
import { LIMITS } from '../limits.ts';
import { actualHeaders, requestHeaders } from '../monitors/request-headers.ts';
import { CHANNEL_FORMATS, WEBHOOK_EVENTS } from '../vocabulary.ts';

function refuseDuplicates(list: readonly string[], context: z.RefinementCtx): void {
  const seen = new Set<string>();
  for (const [index, item] of list.entries()) {
    if (seen.has(item)) context.addIssue({ code: 'custom', path: [index], message: 'is a duplicate' });
    seen.add(item);
  }
}

const monitorIds = monitorIdList.superRefine(refuseDuplicates).meta({ uniqueItems: true });

const events = z
  .array(oneOf(WEBHOOK_EVENTS), { error: 'must be an array of webhook events' })
  .min(1, { error: 'must contain at least one event; null means all' })
  .refine((list) => new Set(list).size === list.length, { error: 'must not contain an event twice' })
  .meta({ uniqueItems: true });

/** Headers that identify and sign a webhook. */
const OWN_HEADERS = new Set(['host', 'webhook-id', 'webhook-timestamp', 'webhook-signature']);

const headers = actualHeaders.superRefine((given, context) => {
  for (const name of Object.keys(given ?? {})) {
    const message = 'is set by Tocsin and cannot be a custom header';
    if (OWN_HEADERS.has(name.toLowerCase())) context.addIssue({ code: 'custom', path: [name], message });
  }
});

const routingKey = z
  .string({ error: 'must be a string' })
  .regex(/^[\x21-\x7e]{1,255}$/, { error: 'must be 1 to 255 visible ASCII characters without spaces' })
  .refine((key) => key !== HIDDEN_SECRET, { error: HIDDEN_ERROR });

const { min, max } = LIMITS.remindAfterSeconds;

/** Fields of a channel, without defaults. */
const fields = {
  name: label(LIMITS.nameCharacters).describe('Display name.'),
  url: httpsUrl.describe('The https URL of the receiver, without user name or password.'),
  monitorIds: monitorIds.describe('The monitors whose webhooks it receives; replaced as a whole.'),
  allMonitors: flag.describe(
    'Whether it receives the webhooks of every monitor of the account, including future ones.',
  ),
  selector: selectorSchema
    .nullable()
    .describe('It also receives the webhooks of the monitors that match, now and later. Null: none.'),
  events: events
    .nullable()
    .describe('The webhook events that it receives; null: all. Test events are always sent.'),
  format: oneOf(CHANNEL_FORMATS).describe(
    'Format of its webhooks: `standard` is the `WebhookPayload`, `teams` an Adaptive Card, `pagerduty` the Events API v2, `alertmanager` the body of `POST /api/v2/alerts`, and `custom` renders `template`.',
  ),
  template: storableText
    .max(LIMITS.templateCharacters, { error: `must be at most ${LIMITS.templateCharacters} characters` })
    .nullable()
    .describe(
      'Liquid template of a JSON document, which the format `custom` requires. Its variables are the fields of `WebhookPayload`, `monitor.labels`, `incident` and `links`.',
    ),
  headers: headers.describe('Additional headers of each request, such as `Authorization`.'),
  routingKey: routingKey.nullable().describe('Integration key, which the format `pagerduty` requires.'),
  remindAfter: boundedInteger(min, max, 'seconds')
    .nullable()
    .describe(
      'While a monitor stays `DOWN` and its incident is not acknowledged, `monitor.down` is sent again every so many seconds. Null: never.',
    ),
};

/** Lists the field that the format of a channel requires if it has no value. */
export function missingFields({
  format,
  ...fields
}: Pick<Channel, 'format' | 'template' | 'routingKey'>): FieldError[] {
  const path = format === 'custom' ? 'template' : format === 'pagerduty' ? 'routingKey' : null;
  if (path === null || fields[path] !== null) return [];
  return [{ path, message: `is required by the format ${format}` }];
}

function requireFields(fields: Parameters<typeof missingFields>[0], context: z.RefinementCtx): void {
  for (const { path, message } of missingFields(fields))
    context.addIssue({ code: 'custom', path: [path], message });
}

/** Matches the base64 of 24 to 64 bytes, if the number of characters is a multiple of 4. */
const SECRET = /^whsec_[A-Za-z0-9+/]{32,86}={0,2}$/;
const secretError = 'must be `whsec_` followed by 24 to 64 random bytes in base64 with padding';

/** A signing secret chosen by a client. Error messages never contain it. */
const givenSecret = z
  .string({ error: 'must be a string' })
  .regex(SECRET, { error: secretError, abort: true })
  .refine((secret) => (secret.length - 'whsec_'.length) % 4 === 0, { error: secretError });

const keys = identifiers('among the channels of the account');

/** Fields of a new channel that a set declares in the same way. */
const created = {
  ...fields,
  allMonitors: fields.allMonitors.default(false),
  selector: fields.selector.default(null),
  events: fields.events.default(null),
  format: fields.format.default('standard'),
  template: fields.template.default(null),
  headers: fields.headers.default(null),
  routingKey: fields.routingKey.default(null),
  remindAfter: fields.remindAfter.default(null),
};

export const createChannelSchema = z
  .strictObject({
    ...created,
    monitorIds: monitorIds
      .default([])
      .describe('The monitors whose webhooks it receives, besides those that `selector` matches.'),
    externalId: keys.externalId.default(null),
    source: keys.source.default(null),
    secret: givenSecret
      .optional()
      .describe(
        'The secret that signs its webhooks: `whsec_` followed by 24 to 64 random bytes in base64. Default: a generated one.',
      ),
  })
  .superRefine(requireFields)
  .meta({ id: 'ChannelCreate' });
export type ChannelInput = z.infer<typeof createChannelSchema>;

const { monitorIds: _, ...declared } = created;

/** Channels of a set reference monitors by `externalId`. */
export const channelSetEntrySchema = z
  .strictObject(
    {
      externalId: clientKey.describe('Your own stable key, unique among the channels of the account.'),
      ...declared,
      monitorExternalIds: z
        .array(clientKey, { error: 'must be an array of externalIds of monitors' })
        .max(LIMITS.monitorSetSize, { error: `must contain at most ${LIMITS.monitorSetSize} externalIds` })
        .superRefine(refuseDuplicates)
        .meta({ uniqueItems: true })
        .default([])
        .describe(
          'The `externalId` of each monitor whose webhooks it receives, besides those that `selector` matches: monitors of this set, or others of the account.',
        ),
      secret: givenSecret
        .optional()
        .describe(
          'The secret that signs its webhooks: `whsec_` followed by 24 to 64 random bytes in base64. Omitted: the channel keeps its secret, and a new channel gets a generated one. Another secret for an existing channel requires a key that an owner created.',
        ),
      enabled: flag
        .optional()
        .describe(
          'Whether webhooks are sent to it. Omitted: the channel keeps its state, and a new channel is enabled.',
        ),
    },
    {
      error: (issue) =>
        issue.code === 'invalid_type' ? 'must be an object with the fields of a channel' : undefined,
    },
  )
  .superRefine(requireFields)
  .meta({
    id: 'ChannelSetEntry',
    description: 'A channel of a set. A field that it omits gets its default, except `secret` and `enabled`.',
  });
export type ChannelSetEntry = z.infer<typeof channelSetEntrySchema>;

export const updateChannelSchema = z
  .strictObject({
    ...fields,
    ...keys,
    enabled: flag.describe('False holds its deliveries; true sends new ones again.'),
  })
  .partial()
  .meta({ id: 'ChannelUpdate' });
export type ChannelUpdate = z.infer<typeof updateChannelSchema>;

export const channelSchema = component(
  'Channel',
  'A receiver of webhooks and the monitors assigned to it, without its secret.',
  {
    id: z.uuid(),
    ...fields,
    ...keys,
    headers: requestHeaders
      .nullable()
      .describe(
        `Additional headers of each request. Every value is \`${HIDDEN_SECRET}\` for viewers and for an API key without the scope \`write\`.`,
      ),
    routingKey: z
      .string()
      .nullable()
      .describe(`\`${HIDDEN_SECRET}\` for viewers and for an API key without the scope \`write\`.`),
    monitorIds: z.array(z.uuid()).describe('In the order in which the monitors were created.'),
    enabled: z.boolean().describe('Whether webhooks are sent to it.'),
    disabledReason: z
      .string()
      .nullable()
      .describe('Why the service disabled it; null if a user did, or while it is enabled.'),
    failingSince: timestamp
      .nullable()
      .describe('The first failed attempt since the last success; null if there is none.'),
    formatError: z
      .string()
      .nullable()
      .describe(
        'Why the template failed for a webhook, which has the standard payload instead. Null if it has not failed since the last change of the channel.',
      ),
    createdAt: timestamp,
    updatedAt: timestamp,
  },
);
export type Channel = z.infer<typeof channelSchema>;

export const listedChannelSchema = channelSchema
  .extend({ etag })
  .meta({ id: 'ListedChannel', description: 'A channel in a list, with its `ETag`.' });

export const channelPreviewSchema = z
  .strictObject({ format: fields.format, template: fields.template.default(null) })
  .superRefine(({ format, template }, context) =>
    requireFields({ format, template, routingKey: HIDDEN_SECRET }, context),
  )
  .meta({ id: 'ChannelPreview', description: 'A format whose webhooks are shown with sample values.' });

export const channelPreviewsSchema = z.strictObject({
  previews: z.array(
    z.strictObject({ event: z.enum(WEBHOOK_EVENTS), body: z.string().describe('Body of the webhook.') }),
  ),
});

export const channelsQuerySchema = z.object({ source: sourceFilter });

const channelIds = z
  .array(idOf('a channel'), { error: 'must be an array of channel ids' })
  .max(LIMITS.channelSetSize, { error: `must contain at most ${LIMITS.channelSetSize} channels` })
  .superRefine(refuseDuplicates)
  .meta({ uniqueItems: true })
  .default([]);

/** A change of the channels that list a monitor. */
export const monitorChannelsSchema = component('MonitorChannels', {
  add: channelIds.describe('The channels that list the monitor from now on.'),
  remove: channelIds.describe('The channels that no longer list it. They keep it if their selector matches.'),
}).refine(({ add, remove }) => !remove.some((id) => add.includes(id)), {
  path: ['remove'],
  error: 'must not contain a channel of add',
});
export type MonitorChannels = z.infer<typeof monitorChannelsSchema>;

export const channelSecretSchema = z
  .string()
  .regex(/^whsec_/)
  .describe("Signs the channel's webhooks as [Standard Webhooks](https://www.standardwebhooks.com) defines.");
