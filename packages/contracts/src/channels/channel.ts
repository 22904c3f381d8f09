import { z } from 'zod';
import { component, httpsUrl, label, monitorIdList, oneOf, timestamp } from '../fields.ts';
import { selectorSchema } from '../labels/selector.ts';
import { LIMITS } from '../limits.ts';
import { WEBHOOK_EVENTS } from '../vocabulary.ts';

const flag = z.boolean({ error: 'must be true or false' });

const monitorIds = monitorIdList((given) =>
  given === undefined ? 'is required' : 'must be an array of monitor ids',
)
  .superRefine((ids, context) => {
    const seen = new Set<string>();
    for (const [index, id] of ids.entries()) {
      if (seen.has(id)) {
        context.addIssue({ code: 'custom', path: [index], message: 'is a duplicate' });
      }
      seen.add(id);
    }
  })
  .meta({ uniqueItems: true });

const events = z
  .array(oneOf(WEBHOOK_EVENTS), { error: 'must be an array of webhook events' })
  .min(1, { error: 'must contain at least one event: null means all' })
  .refine((list) => new Set(list).size === list.length, { error: 'must not contain an event twice' })
  .meta({ uniqueItems: true });

/** The fields of a channel, without defaults. */
const fields = {
  name: label(LIMITS.nameCharacters).describe('Display name. White space around it is removed.'),
  url: httpsUrl.describe('The https URL of the receiver, without user name or password.'),
  monitorIds: monitorIds.describe('The monitors whose webhooks it receives; replaced as a whole.'),
  allMonitors: flag.describe(
    'Whether it receives the webhooks of every monitor of the account, including future ones.',
  ),
  selector: selectorSchema
    .nullable()
    .describe('It also receives the webhooks of the monitors that match, now and later. Null: of none.'),
  events: events
    .nullable()
    .describe('The webhook events that it receives; null: all. Test events are always sent.'),
};

export const createChannelSchema = component('ChannelCreate', {
  ...fields,
  allMonitors: fields.allMonitors.default(false),
  selector: fields.selector.default(null),
  events: fields.events.default(null),
});
export type ChannelInput = z.infer<typeof createChannelSchema>;

export const updateChannelSchema = z
  .strictObject({
    ...fields,
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
    name: z.string(),
    url: z.string(),
    monitorIds: z.array(z.uuid()).describe('In the order in which the monitors were created.'),
    allMonitors: z
      .boolean()
      .describe('Whether every monitor of the account is assigned to it, including future ones.'),
    selector: selectorSchema.nullable().describe('Selects further monitors by their labels; null: none.'),
    events: z
      .array(z.enum(WEBHOOK_EVENTS))
      .nullable()
      .describe('The webhook events that it receives; null: all.'),
    externalId: z
      .string()
      .nullable()
      .describe('Your own stable key, unique among the channels of the account.'),
    source: z.string().nullable().describe('The set that declares it; null: none.'),
    enabled: z.boolean().describe('Whether webhooks are sent to it.'),
    disabledReason: z
      .string()
      .nullable()
      .describe('Why the service disabled it; null if a user did, or while it is enabled.'),
    failingSince: timestamp
      .nullable()
      .describe('The first failed attempt since the last success; null if there is none.'),
    createdAt: timestamp,
    updatedAt: timestamp,
  },
);
export type Channel = z.infer<typeof channelSchema>;

export const channelSecretSchema = z
  .string()
  .regex(/^whsec_/)
  .describe("Signs the channel's webhooks as [Standard Webhooks](https://www.standardwebhooks.com) defines.");
