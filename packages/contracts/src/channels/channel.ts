import { z } from 'zod';
import { httpsUrl, label } from '../fields.ts';
import { LIMITS } from '../limits.ts';

const required = (issue: { input: unknown }, rule: string): string =>
  issue.input === undefined ? 'is required' : rule;

const flag = z.boolean({ error: 'must be true or false' });

const monitorIds = z
  .array(
    z.uuid({ error: 'must be the id of a monitor' }).transform((id) => id.toLowerCase()),
    { error: (issue) => required(issue, 'must be an array of ids of monitors') },
  )
  .superRefine((ids, context) => {
    const seen = new Set<string>();
    for (const [index, id] of ids.entries()) {
      if (seen.has(id)) {
        context.addIssue({ code: 'custom', path: [index], message: 'names a monitor a second time' });
      }
      seen.add(id);
    }
  })
  .meta({ uniqueItems: true });

/** The field rules of a channel, without defaults (design §3 "Dashboard API"). */
const fields = {
  name: label(LIMITS.nameCharacters).describe('Display name. White space around it is removed.'),
  url: httpsUrl.describe('The https address of the receiver, without user name or password.'),
  monitorIds: monitorIds.describe('The monitors whose webhooks it gets; replaced as a whole.'),
  allMonitors: flag.describe('Whether it gets those of every monitor of the account, later ones too.'),
};

/** Body of "create a channel". */
export const createChannelSchema = z
  .strictObject({ ...fields, allMonitors: fields.allMonitors.default(false) })
  .meta({ id: 'ChannelCreate' });
export type ChannelInput = z.infer<typeof createChannelSchema>;

/** Body of "update a channel": any subset; `monitorIds` is replaced as a whole. */
export const updateChannelSchema = z
  .strictObject({
    ...fields,
    enabled: flag.describe('False: what is due to it is kept and not sent. True: it is sent to again.'),
  })
  .partial()
  .meta({ id: 'ChannelUpdate' });
export type ChannelUpdate = z.infer<typeof updateChannelSchema>;

const timestamp = z.iso.datetime({ precision: 3 });

/** The channel record as the API answers it; its secret is never in it. */
export const channelSchema = z
  .strictObject({
    id: z.uuid(),
    name: z.string(),
    url: z.string(),
    monitorIds: z.array(z.uuid()).describe("In the order of the monitors' creation."),
    allMonitors: z
      .boolean()
      .describe('Whether it is assigned to every monitor of the account, later ones too.'),
    enabled: z.boolean().describe('Whether it is sent to.'),
    disabledReason: z
      .string()
      .nullable()
      .describe('Why the service disabled it; null where a person did, or while it is enabled.'),
    failingSince: timestamp
      .nullable()
      .describe('The first failed attempt since the last success; null while there is none.'),
    createdAt: timestamp,
    updatedAt: timestamp,
  })
  .meta({
    id: 'Channel',
    description: 'A receiver of webhooks and the monitors it is assigned to. Its secret is never in it.',
  });
export type Channel = z.infer<typeof channelSchema>;

/** The secret that signs a channel's webhooks, as Standard Webhooks writes it. */
export const channelSecretSchema = z
  .string()
  .regex(/^whsec_/)
  .describe("Signs the channel's webhooks, as [Standard Webhooks](https://www.standardwebhooks.com) has it.");
