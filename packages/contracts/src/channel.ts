import { z } from 'zod';
import { httpsUrl } from './http-url.ts';
import { LIMITS } from './limits.ts';
import { label } from './text.ts';

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
  });

/** The field rules of a channel, without defaults (design §3 "Dashboard API"). */
const fields = {
  name: label(LIMITS.nameCharacters),
  url: httpsUrl,
  monitorIds,
  allMonitors: flag,
};

/** Body of "create a channel". */
export const createChannelSchema = z
  .strictObject({ ...fields, allMonitors: fields.allMonitors.default(false) })
  .meta({ id: 'ChannelCreate' });
export type ChannelInput = z.infer<typeof createChannelSchema>;

/** Body of "update a channel": any subset; `monitorIds` is replaced as a whole. */
export const updateChannelSchema = z
  .strictObject({ ...fields, enabled: flag })
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
    /** In the order of the monitors' creation. */
    monitorIds: z.array(z.uuid()),
    /** Assigned to every monitor of the account, later ones too. */
    allMonitors: z.boolean(),
    enabled: z.boolean(),
    /** Why the service disabled it; null where a person did, or while it is enabled. */
    disabledReason: z.string().nullable(),
    /** The first failed attempt since the last success; null while there is none. */
    failingSince: timestamp.nullable(),
    createdAt: timestamp,
    updatedAt: timestamp,
  })
  .meta({ id: 'Channel' });
export type Channel = z.infer<typeof channelSchema>;
