import { z } from 'zod';
import { component, flag, monitorIdList, timestamp } from '../fields.ts';
import { labelKeyProblem } from '../labels/labels.ts';
import { labelsSchema } from '../labels/selector.ts';
import { LIMITS } from '../limits.ts';
import { MONITOR } from '../routes/examples.ts';
import { defineRoutes } from '../routes/route.ts';

/** Duplicates count once. */
const selectionOf = (max: number) =>
  monitorIdList
    .min(1, { error: 'must contain at least one monitor' })
    .max(max, { error: `must contain at most ${max} monitors` })
    .transform((ids) => [...new Set(ids)])
    .describe(`1 to ${max} monitors. Duplicates count once, and ids of unknown monitors are ignored.`);

const monitorIds = selectionOf(LIMITS.bulkMonitors);
const bulkSchema = component('MonitorSelection', { monitorIds });

const labelKey = z.string({ error: 'must be a string' }).superRefine((key, context) => {
  const message = labelKeyProblem(key);
  if (message !== null) context.addIssue({ code: 'custom', message });
});

const bulkLabelsSchema = component('MonitorLabelsEdit', {
  monitorIds,
  set: labelsSchema.default({}).describe('Labels to add. They replace the value of the same key.'),
  remove: z
    .array(labelKey, { error: 'must be an array of label keys' })
    .max(LIMITS.labelCount, { error: `must contain at most ${LIMITS.labelCount} keys` })
    .default([])
    .describe('Keys to remove, with any value. A key that `set` has, too, is added.'),
});
export type LabelsEdit = Pick<z.infer<typeof bulkLabelsSchema>, 'set' | 'remove'>;

const relabeledSchema = component('RelabeledMonitor', {
  id: z.uuid(),
  labels: labelsSchema,
  updatedAt: timestamp,
});
const failureSchema = component('MonitorFailure', 'A monitor that was not changed.', {
  id: z.uuid(),
  message: z.string().describe('Why, for people.'),
});
export type RelabeledMonitor = z.infer<typeof relabeledSchema>;
export type MonitorFailure = z.infer<typeof failureSchema>;

const pausedSchema = component('PausedMonitor', {
  id: z.uuid(),
  enabled: z.boolean(),
  updatedAt: timestamp,
});
export type PausedMonitor = z.infer<typeof pausedSchema>;

const percentile = z.int().min(0);
const monitorLatencySchema = component('MonitorLatency', {
  monitorId: z.uuid(),
  p95: percentile.describe('In whole milliseconds, accurate to 5 %.'),
  p99: percentile,
});
export type MonitorLatency = z.infer<typeof monitorLatencySchema>;

const common = { tag: 'Monitors in the dashboard', access: 'member' } as const;
const bodyExample = { monitorIds: [MONITOR.id] };

/** Routes for several monitors at once, for the dashboard only. */
export const bulkMonitorRoutes = defineRoutes(common, {
  listMonitorLatencies: {
    endpoint: 'GET /api/dashboard/monitors/latencies',
    summary: 'List the latency of all monitors',
    description: `From all regions of each monitor, over the last full hour that is rolled up, and at most the ${LIMITS.latencyChecks} latest checks since. Monitors without a response in this time are left out.`,
    response: z.strictObject({ latencies: z.array(monitorLatencySchema) }),
    responseExample: { latencies: [{ monitorId: MONITOR.id, p95: 120, p99: 340 }] },
  },
  editMonitorLabels: {
    endpoint: 'POST /api/dashboard/monitors/labels',
    summary: 'Edit the labels of several monitors',
    description:
      'Removes keys, then adds labels, in one transaction. Repeating the request changes nothing. `failures` lists the monitors that keep their labels: those that would have too many, or that cannot be decrypted.',
    body: bulkLabelsSchema,
    bodyExample: { ...bodyExample, set: { team: 'checkout' }, remove: ['tier'] },
    response: z.strictObject({ monitors: z.array(relabeledSchema), failures: z.array(failureSchema) }),
    responseExample: {
      monitors: [{ id: MONITOR.id, labels: { team: 'checkout' }, updatedAt: MONITOR.updatedAt }],
      failures: [],
    },
    errors: ['quota_exceeded'],
  },
  pauseMonitors: {
    endpoint: 'POST /api/dashboard/monitors/pause',
    summary: 'Pause or resume several monitors',
    description:
      'In one transaction. Repeating the request changes nothing. `failures` lists the monitors that cannot be decrypted, which stay as they are.',
    body: component('MonitorPause', {
      monitorIds,
      enabled: flag.describe('False pauses them, true resumes them.'),
    }),
    bodyExample: { ...bodyExample, enabled: false },
    response: z.strictObject({ monitors: z.array(pausedSchema), failures: z.array(failureSchema) }),
    responseExample: {
      monitors: [{ id: MONITOR.id, enabled: false, updatedAt: MONITOR.updatedAt }],
      failures: [],
    },
  },
  deleteMonitors: {
    endpoint: 'POST /api/dashboard/monitors/delete',
    summary: 'Delete several monitors',
    description:
      'In one transaction: all of them or, after an error, none. Deletes their events and incidents too. Webhooks that are due are still sent.',
    body: bulkSchema,
    bodyExample,
    response: z.strictObject({ deletedIds: z.array(z.uuid()).describe('Without ids of unknown monitors.') }),
    responseExample: { deletedIds: [MONITOR.id] },
  },
  addMonitorsToChannel: {
    endpoint: 'POST /api/dashboard/channels/:id/monitors',
    tag: 'Channels',
    summary: 'Add monitors to a channel',
    description: 'Adds them to the `monitorIds` of the channel. Repeating the request changes nothing.',
    resource: 'channel',
    body: component('ChannelMonitors', { monitorIds: selectionOf(LIMITS.bulkChannelMonitors) }),
    bodyExample,
    response: z.strictObject({ added: z.int().min(0).describe('How many it did not list before.') }),
    responseExample: { added: 1 },
    errors: ['quota_exceeded'],
  },
  checkMonitors: {
    endpoint: 'POST /api/dashboard/monitors/check',
    summary: 'Check several monitors soon',
    description:
      'Adds one check for each region of each monitor, besides the scheduled ones. The checks are spread over time, so that they are no burst. Repeating the request within this time adds nothing. Monitors whose interval is as short are not checked more often.',
    body: bulkSchema,
    bodyExample,
    response: z.strictObject({
      monitors: z.int().min(0).describe('How many monitors will be checked.'),
      withinSeconds: z.int().min(1).describe('By when all of them have been checked.'),
    }),
    responseExample: { monitors: 1, withinSeconds: 4 },
  },
});
