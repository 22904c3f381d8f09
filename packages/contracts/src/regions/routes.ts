import { z } from 'zod';
import { defineRoutes } from '../routes/route.ts';
import { regionSchema } from './region.ts';

const common = { tag: 'Regions', access: 'member' } as const;

export const regionRoutes = defineRoutes(common, {
  listRegions: {
    endpoint: 'GET /api/dashboard/regions',
    summary: 'List regions',
    description:
      "The regions of the account's monitors and of the settings, at most five seconds old. No checker checks the monitors of a region that is not `served`.",
    response: z.strictObject({ regions: z.array(regionSchema) }),
    responseExample: {
      regions: [{ region: 'eu-west-1', workers: 2, waiting: 0, lagSeconds: 0, monitors: 12, served: true }],
    },
  },
});
