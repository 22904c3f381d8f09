import { z } from 'zod';
import { channelSecretSchema, channelSetEntrySchema } from '../channels/channel.ts';
import { clientKey, component, flag, timestamp } from '../fields.ts';
import { LIMITS } from '../limits.ts';
import { createMonitorSchema } from '../monitors/monitor.ts';

const { externalId: _externalId, source: _source, ...monitorFields } = createMonitorSchema.shape;

export const monitorSetEntrySchema = z
  .strictObject(
    {
      externalId: clientKey.describe('Your own stable key for it, unique in the account.'),
      ...monitorFields,
    },
    {
      error: (issue) =>
        issue.code === 'invalid_type' ? 'must be an object with the fields of a monitor' : undefined,
    },
  )
  .meta({
    id: 'MonitorSetEntry',
    description:
      'A monitor of a set. A field that it omits gets its default, whatever the monitor had before.',
  });
export type MonitorSetEntry = z.infer<typeof monitorSetEntrySchema>;

export const monitorSetSchema = component('MonitorSet', 'The desired monitors and channels of a source.', {
  source: clientKey.describe(
    'The owner of these monitors and channels, such as the repository that declares them.',
  ),
  monitors: z
    .array(monitorSetEntrySchema, { error: 'must be an array of monitors' })
    .max(LIMITS.monitorSetSize, { error: `must contain at most ${LIMITS.monitorSetSize} monitors` })
    .describe('Each has a unique `externalId`.'),
  channels: z
    .array(channelSetEntrySchema, { error: 'must be an array of channels' })
    .max(LIMITS.channelSetSize, { error: `must contain at most ${LIMITS.channelSetSize} channels` })
    .optional()
    .describe(
      'The desired channels of the source, each with a unique `externalId`. Omitted: its channels stay untouched.',
    ),
  prune: flag
    .default(false)
    .describe(
      'Whether to delete monitors of the source that are not in the set. If the set has `channels`, the same holds for channels.',
    ),
  dryRun: flag.default(false).describe('Whether to return the plan without applying it.'),
});
export type MonitorSet = z.infer<typeof monitorSetSchema>;

const memberSchema = z.strictObject({
  id: z.uuid(),
  externalId: z.string().nullable().describe('Null if it has the source but no `externalId`.'),
});

const updatedSchema = z.strictObject({
  id: z.uuid(),
  externalId: z.string(),
  fields: z.array(z.string()).min(1),
});

const renamedFromSchema = memberSchema.extend({
  createdAt: timestamp,
  hasOpenIncident: z.boolean().describe('Whether it has an open incident.'),
});

const createdId = z.uuid().nullable().describe('Null in a dry run.');

const channelResultSchema = z
  .strictObject({
    created: z.array(
      z.strictObject({
        id: createdId,
        externalId: z.string(),
        secret: channelSecretSchema
          .nullable()
          .describe('The generated secret. Null in a dry run, and if the set contains the secret.'),
        probablyRenamedFrom: memberSchema
          .optional()
          .describe(
            'The channel in `deleted` or `unlisted` that this one probably replaces under a new `externalId`. It has the same URL and name, otherwise the same URL, otherwise the same name. The match is unique among the created channels, and among the deleted and unlisted ones. To keep its secret and the webhooks that are due, change its `externalId` before you apply the set. Absent if there is none.',
          ),
      }),
    ),
    updated: z.array(updatedSchema),
    deleted: z.array(memberSchema),
    unchanged: z.array(memberSchema),
    unlisted: z
      .array(memberSchema)
      .describe('Channels of the source that are not in the set and stay because `prune` is false.'),
  })
  .meta({ id: 'ChannelSetResult', description: 'The change of each channel of the source.' });
export type ChannelSetResult = z.infer<typeof channelResultSchema>;

export const monitorSetResultSchema = z
  .strictObject({
    source: z.string(),
    dryRun: z.boolean(),
    changed: z.boolean().describe('Whether any monitor or channel changes.'),
    created: z.array(
      z.strictObject({
        id: createdId,
        externalId: z.string(),
        probablyRenamedFrom: renamedFromSchema
          .optional()
          .describe(
            'The monitor in `deleted` or `unlisted` that this one probably replaces under a new `externalId`. It has the same URL, method and name, otherwise the same URL and method, otherwise the same name. The match is unique among the created monitors, and among the deleted and unlisted ones. To keep its history, change its `externalId` before you apply the set. Absent if there is none.',
          ),
      }),
    ),
    updated: z.array(updatedSchema),
    deleted: z.array(memberSchema),
    unchanged: z.array(memberSchema),
    unlisted: z
      .array(memberSchema)
      .describe('Monitors of the source that are not in the set and stay because `prune` is false.'),
    channels: channelResultSchema.optional().describe('Present if the set has `channels`.'),
  })
  .meta({
    id: 'MonitorSetResult',
    description: 'The change of each monitor and channel of the source, applied or, in a dry run, planned.',
  });
export type MonitorSetResult = z.infer<typeof monitorSetResultSchema>;
