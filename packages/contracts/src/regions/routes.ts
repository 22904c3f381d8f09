import { z } from 'zod';
import { component, monitorIdSet, timestamp } from '../fields.ts';
import { LIMITS, REGION_PATTERN } from '../limits.ts';
import { MONITOR } from '../routes/examples.ts';
import { defineRoutes, withDashboard } from '../routes/route.ts';
import { REGION_HEALTHS } from '../vocabulary.ts';

export const regionSchema = component(
  'Region',
  'Where checks run. Null: the queue of the region does not respond.',
  {
    region: z.string(),
    workers: z.int().min(0).nullable().describe('Checkers that run its checks.'),
    waiting: z
      .int()
      .min(0)
      .nullable()
      .describe('Jobs that are due and not started. One job checks all monitors of an interval and offset.'),
    lagSeconds: z
      .int()
      .min(0)
      .nullable()
      .describe(
        'How long the oldest job that waits, or check without a result, has been due; 0 without any.',
      ),
    monitors: z.int().min(0).describe('Monitors of the account in the region.'),
    served: z.boolean().nullable().describe('Whether any checker runs its checks.'),
    lateSince: timestamp
      .nullable()
      .describe(
        'The oldest due check without a result, if nothing was recorded from the region since and results are 15 s late; otherwise null. Statuses may be out of date.',
      ),
    health: z
      .enum(REGION_HEALTHS)
      .describe(
        'Whether the region has a network, as its canaries show: `isolated` if none responds to a checker; `unknown` without canaries.',
      ),
    since: timestamp.nullable().describe('Since when it is `isolated`; null for any other health.'),
    canaryMonitorIds: z.array(z.uuid()).describe('The monitors that show whether the region has a network.'),
  },
);
export type Region = z.infer<typeof regionSchema>;

const region: Region = {
  region: 'eu-west-1',
  workers: 2,
  waiting: 0,
  lagSeconds: 0,
  monitors: 12,
  served: true,
  lateSince: null,
  health: 'connected',
  since: null,
  canaryMonitorIds: [MONITOR.id],
};

const sharedRoutes = defineRoutes(
  { tag: 'Regions', access: 'key' },
  {
    listRegions: {
      endpoint: 'GET /api/cli/regions',
      summary: 'List regions',
      description:
        "The regions of the account's monitors and those in the settings. Workers and jobs are at most five seconds old. No checker checks the monitors of a region that is not `served`.",
      response: z.strictObject({ regions: z.array(regionSchema) }),
      responseExample: { regions: [region] },
    },
  },
);

const updateRegionSchema = component('RegionUpdate', {
  canaryMonitorIds: monitorIdSet(LIMITS.canaries).describe(
    'Monitors that the region checks, best of different networks; replaced as a whole. Empty: the health of the region is `unknown`.',
  ),
});

const dashboardRoutes = defineRoutes(
  { tag: 'Regions', access: 'member' },
  {
    updateRegion: {
      endpoint: 'PUT /api/dashboard/regions/:code',
      summary: 'Set the canaries of a region',
      description:
        'Canaries show whether the region has a network. While none of them responds to a checker, its checks that fail below HTTP are inconclusive: they change no status and alert nobody. The canaries themselves count as always.',
      path: z.object({ code: z.string().regex(REGION_PATTERN).describe('The code of the region.') }),
      body: updateRegionSchema,
      bodyExample: { canaryMonitorIds: region.canaryMonitorIds },
      response: z.strictObject({ region: regionSchema }),
      responseExample: { region },
    },
  },
);

export const regionRoutes = { ...withDashboard(sharedRoutes), ...dashboardRoutes };
