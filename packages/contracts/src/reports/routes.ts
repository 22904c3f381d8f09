import { z } from 'zod';
import { AVAILABILITY_REPORT } from '../routes/examples.ts';
import { defineRoutes } from '../routes/route.ts';
import { availabilityQuerySchema, availabilityReportSchema } from './availability.ts';

export const reportRoutes = defineRoutes({ tag: 'Reports', access: 'member' } as const, {
  getAvailabilityReport: {
    endpoint: 'GET /api/dashboard/reports/availability',
    summary: 'Report availability',
    description:
      'Uptime and downtime are exact to the millisecond. Checks are counted by whole hours in UTC: those of the hours that begin in the period.',
    query: availabilityQuerySchema,
    response: z.strictObject({ report: availabilityReportSchema }),
    responseExample: { report: AVAILABILITY_REPORT },
  },
});
