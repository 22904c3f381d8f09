import { z } from 'zod';
import { INCIDENT } from '../routes/examples.ts';
import { defineRoutes } from '../routes/route.ts';
import { incidentSchema, incidentsQuerySchema } from './incident.ts';

const common = { tag: 'Incidents', access: 'member' } as const;

export const incidentRoutes = defineRoutes(common, {
  listIncidents: {
    endpoint: 'GET /api/dashboard/incidents',
    summary: 'List incidents',
    description: 'Newest first.',
    query: incidentsQuerySchema,
    response: z.strictObject({ incidents: z.array(incidentSchema) }),
    responseExample: { incidents: [INCIDENT] },
  },
  getIncident: {
    endpoint: 'GET /api/dashboard/incidents/:id',
    summary: 'Get an incident',
    resource: 'incident',
    response: z.strictObject({ incident: incidentSchema }),
    responseExample: { incident: INCIDENT },
  },
});
