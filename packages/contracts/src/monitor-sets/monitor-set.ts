import { z } from 'zod';
import { component, label } from '../fields.ts';
import { LIMITS } from '../limits.ts';
import { createMonitorSchema } from '../monitors/monitor.ts';

const { externalId: _externalId, source: _source, ...monitorFields } = createMonitorSchema.shape;

export const monitorSetEntrySchema = z
  .strictObject(
    {
      externalId: label(LIMITS.externalIdCharacters).describe(
        'Your own stable key for it, unique in the account.',
      ),
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

export const monitorSetSchema = component('MonitorSet', 'The desired monitors of a source.', {
  source: label(LIMITS.externalIdCharacters).describe(
    'The owner of these monitors, such as the repository that declares them.',
  ),
  monitors: z
    .array(monitorSetEntrySchema, { error: 'must be an array of monitors' })
    .max(LIMITS.monitorSetSize, { error: `must contain at most ${LIMITS.monitorSetSize} monitors` })
    .describe('Each has a unique `externalId`.'),
  prune: z
    .boolean({ error: 'must be true or false' })
    .default(false)
    .describe('Whether to delete monitors of the source that are not in the set.'),
  dryRun: z
    .boolean({ error: 'must be true or false' })
    .default(false)
    .describe('Whether to return the plan without applying it.'),
});
export type MonitorSet = z.infer<typeof monitorSetSchema>;

const memberSchema = z.strictObject({
  id: z.uuid(),
  externalId: z.string().nullable().describe('Null if the monitor has the source but no `externalId`.'),
});

export const monitorSetResultSchema = z
  .strictObject({
    source: z.string(),
    dryRun: z.boolean(),
    changed: z.boolean(),
    created: z.array(
      z.strictObject({ id: z.uuid().nullable().describe('Null in a dry run.'), externalId: z.string() }),
    ),
    updated: z.array(
      z.strictObject({ id: z.uuid(), externalId: z.string(), fields: z.array(z.string()).min(1) }),
    ),
    deleted: z.array(memberSchema),
    unchanged: z.array(memberSchema),
    unlisted: z
      .array(memberSchema)
      .describe('Monitors of the source that are not in the set and stay because `prune` is false.'),
  })
  .meta({
    id: 'MonitorSetResult',
    description: 'The change of each monitor of the source, applied or, in a dry run, planned.',
  });
export type MonitorSetResult = z.infer<typeof monitorSetResultSchema>;
