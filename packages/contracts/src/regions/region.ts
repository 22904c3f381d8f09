import { z } from 'zod';
import { component, label, monitorIdSet, timestamp } from '../fields.ts';
import { LIMITS, REGION_PATTERN } from '../limits.ts';
import { REGION_HEALTHS, REGION_KINDS } from '../vocabulary.ts';

const agentSchema = component('Agent', 'An agent that is connected.', {
  id: z.uuid().describe('Identifies the connection. It changes when the agent reconnects.'),
  name: z.string().describe("Host name of the agent's machine."),
  version: z.string(),
  connectedSince: timestamp,
  inFlight: z.int().min(0).describe('Checks that it runs now.'),
});
export type Agent = z.infer<typeof agentSchema>;

export const regionSchema = component(
  'Region',
  'Where checks run. Null: the queue of the region does not respond.',
  {
    region: z.string(),
    kind: z.enum(REGION_KINDS).describe('What runs its checks.'),
    name: z.string().nullable().describe('Display name of an agent region.'),
    shared: z.boolean().describe('Whether monitors of all accounts may name it.'),
    workers: z
      .int()
      .min(0)
      .nullable()
      .describe('Checkers that run its checks, or gateways with connected agents.'),
    agents: z
      .array(agentSchema)
      .max(LIMITS.listedAgents)
      .describe('Connected agents, longest connected first. Empty for a region that checkers serve.'),
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
    monitors: z
      .int()
      .min(0)
      .describe('Monitors of the account in the region; of all accounts for operators.'),
    served: z.boolean().nullable().describe('Whether any checker or gateway runs its checks.'),
    lateSince: timestamp
      .nullable()
      .describe(
        'The oldest due check without a result, if nothing was recorded from the region since and results are 15 s late; otherwise null. Statuses may be out of date.',
      ),
    health: z
      .enum(REGION_HEALTHS)
      .describe(
        'Whether the region has a network, as its canaries show: `isolated` if none responds; `unknown` without canaries. `disconnected` if agents serve the region and none is connected.',
      ),
    since: timestamp
      .nullable()
      .describe('Since when it is `isolated` or `disconnected`; null for any other health.'),
    canaryMonitorIds: z.array(z.uuid()).describe('The monitors that show whether the region has a network.'),
  },
);
export type Region = z.infer<typeof regionSchema>;

export const createRegionSchema = component('RegionCreate', {
  code: z
    .string({ error: ({ input }) => (input === undefined ? 'is required' : 'must be a string') })
    .regex(REGION_PATTERN, {
      error: 'must have 1 to 63 lower-case letters, digits and hyphens, and not start with a hyphen',
    })
    .describe('The code that monitors name. Codes are unique in the installation.'),
  name: label(LIMITS.nameCharacters).nullish().describe('Display name.'),
});
export type NewRegion = z.output<typeof createRegionSchema>;

export const updateRegionSchema = component('RegionUpdate', {
  canaryMonitorIds: monitorIdSet(LIMITS.canaries).describe(
    'Monitors that the region checks, best of different networks; replaced as a whole. Empty: the health of the region is `unknown`.',
  ),
});

/** Path of the routes of one region. */
export const regionPath = z.object({
  code: z.string().regex(REGION_PATTERN).describe('The code of the region.'),
});
