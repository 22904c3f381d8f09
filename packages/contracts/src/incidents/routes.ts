import { INCIDENT } from '../routes/examples.ts';
import { DASHBOARD, many, one } from '../routes/route.ts';
import type { Operations } from '../routes/route.ts';
import { incidentSchema, incidentsQuerySchema } from './incident.ts';

const tag = 'Incidents';

/** Open and past incidents (design §3 "Dashboard API"). */
export const incidentOperations: Operations = {
  [`GET ${DASHBOARD}/incidents`]: {
    id: 'listIncidents',
    tag,
    summary: 'List incidents',
    description: 'The latest first.',
    needs: 'member',
    query: incidentsQuerySchema,
    ok: 200,
    answer: many('incidents', incidentSchema),
    answerExample: { incidents: [INCIDENT] },
  },
  [`GET ${DASHBOARD}/incidents/:id`]: {
    id: 'getIncident',
    tag,
    summary: 'Get an incident',
    needs: 'member',
    kind: 'incident',
    ok: 200,
    answer: one('incident', incidentSchema),
    answerExample: { incident: INCIDENT },
  },
};
