import { z } from 'zod';
import { MONITOR } from '../routes/examples.ts';
import { defineRoutes, withDashboard } from '../routes/route.ts';
import { createRegionSchema, type Region, regionPath, regionSchema, updateRegionSchema } from './region.ts';

const region: Region = {
  region: 'eu-west-1',
  kind: 'checkers',
  name: null,
  shared: true,
  workers: 2,
  agents: [],
  waiting: 0,
  lagSeconds: 0,
  monitors: 12,
  served: true,
  lateSince: null,
  health: 'connected',
  since: null,
  canaryMonitorIds: [MONITOR.id],
};

const agentRegion: Region = {
  ...region,
  region: 'office-zurich',
  kind: 'agents',
  name: 'Office in Zurich',
  shared: false,
  agents: [
    {
      id: '019a9f1e-4b6c-7d8e-9fa0-b1c2d3e4f506',
      name: 'probe-1',
      version: '0.1.0',
      connectedSince: '2026-11-20T09:00:00.000Z',
      inFlight: 3,
    },
  ],
};

const newRegion: Region = {
  ...agentRegion,
  workers: 0,
  agents: [],
  monitors: 0,
  served: false,
  health: 'disconnected',
  since: '2026-11-20T12:00:00.000Z',
  canaryMonitorIds: [],
};

const LIST = {
  summary: 'List regions',
  response: z.strictObject({ regions: z.array(regionSchema) }),
} as const;

const CREATE = {
  body: createRegionSchema,
  bodyExample: { code: newRegion.region, name: newRegion.name },
  status: 201,
  response: z.strictObject({ region: regionSchema }),
  responseExample: { region: newRegion },
  responseHeaders: ['Location'],
} as const;

const DELETE = { path: regionPath, errors: ['conflict'] } as const;

const sharedRoutes = defineRoutes(
  { tag: 'Regions', access: 'write key' },
  {
    listRegions: {
      ...LIST,
      endpoint: 'GET /api/cli/regions',
      access: 'key',
      description:
        "The regions of the account's monitors, the regions in the settings, and the account's own and shared agent regions. Workers and jobs are at most five seconds old. Nothing checks the monitors of a region that is not `served`.",
      responseExample: { regions: [region, agentRegion] },
    },
    createRegion: {
      ...CREATE,
      endpoint: 'POST /api/cli/regions',
      summary: 'Create a region',
      description:
        'Only agents of the account serve the region, and only monitors of the account may name it. Create an agent token next. A code that cannot be used returns 409.',
      errors: ['conflict', 'quota_exceeded'],
    },
    deleteRegion: {
      ...DELETE,
      endpoint: 'DELETE /api/cli/regions/:code',
      summary: 'Delete a region',
      description:
        'Deletes an agent region with its tokens, and disconnects its agents at once. Returns 409 while a monitor names the region.',
    },
  },
);

const dashboardRoutes = defineRoutes(
  { tag: 'Regions', access: 'member' },
  {
    updateRegion: {
      endpoint: 'PUT /api/dashboard/regions/:code',
      summary: 'Set the canaries of a region',
      description:
        'Canaries show whether the region has a network. While none of them responds to a checker, its checks that fail below HTTP are inconclusive: they change no status and alert nobody. The canaries themselves count as always.',
      path: regionPath,
      body: updateRegionSchema,
      bodyExample: { canaryMonitorIds: region.canaryMonitorIds },
      response: z.strictObject({ region: regionSchema }),
      responseExample: { region },
    },
  },
);

const operatorRoutes = defineRoutes(
  { tag: 'Regions', access: 'operator' },
  {
    listSharedRegions: {
      ...LIST,
      endpoint: 'GET /api/operator/regions',
      summary: 'List shared regions',
      description:
        'The regions that agents of the installation serve. Monitors of any account may name them.',
      responseExample: {
        regions: [{ ...agentRegion, shared: true, health: 'unknown', canaryMonitorIds: [] }],
      },
    },
    createSharedRegion: {
      ...CREATE,
      endpoint: 'POST /api/operator/regions',
      summary: 'Create a shared region',
      description:
        'Agents of the installation serve the region, and monitors of any account may name it. Create an agent token next. A code that cannot be used returns 409.',
      errors: ['conflict'],
    },
    deleteSharedRegion: {
      ...DELETE,
      endpoint: 'DELETE /api/operator/regions/:code',
      summary: 'Delete a shared region',
      description:
        'Deletes the region with its tokens, and disconnects its agents at once. Returns 409 while a monitor of any account names the region.',
    },
  },
);

export const regionRoutes = { ...withDashboard(sharedRoutes), ...dashboardRoutes, ...operatorRoutes };
