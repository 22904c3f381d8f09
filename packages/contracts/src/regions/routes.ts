import { z } from 'zod';
import { component, timestamp } from '../fields.ts';
import { defineRoutes } from '../routes/route.ts';
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
      .describe('Jobs that are due and not started. One job checks all monitors of an interval and phase.'),
    lagSeconds: z
      .int()
      .min(0)
      .nullable()
      .describe('How long the oldest waiting job has been due; 0 if none waits.'),
    monitors: z.int().min(0).describe('Monitors of the account in the region.'),
    served: z.boolean().nullable().describe('Whether any checker runs its checks.'),
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

const common = {
  tag: 'Regions',
  description:
    "The regions of the account's monitors and those in the settings, at most five seconds old. No checker checks the monitors of a region that is not `served`.",
  response: z.strictObject({ regions: z.array(regionSchema) }),
  responseExample: {
    regions: [
      {
        region: 'eu-west-1',
        workers: 2,
        waiting: 0,
        lagSeconds: 0,
        monitors: 12,
        served: true,
        health: 'connected',
        since: null,
        canaryMonitorIds: ['019a9f0e-5d2e-7c11-8f5a-1c1f4d1b2a3c'],
      },
    ],
  },
} as const;

export const regionRoutes = defineRoutes(common, {
  listRegions: { endpoint: 'GET /api/cli/regions', summary: 'List regions', access: 'key' },
  listRegionsInDashboard: {
    endpoint: 'GET /api/dashboard/regions',
    summary: 'List regions in the dashboard',
    access: 'member',
  },
});
