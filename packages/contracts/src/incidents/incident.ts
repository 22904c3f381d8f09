import { z } from 'zod';
import { pageBefore } from '../deliveries/delivery.ts';
import { errorReasonSchema, pageLimit } from '../monitors/events.ts';

const timestamp = z.iso.datetime({ precision: 3 });

/** An incident as the dashboard API answers it (design §3 "Dashboard API"). */
export const incidentSchema = z
  .strictObject({
    id: z.uuid(),
    monitorId: z.uuid(),
    monitorName: z.string(),
    openedAt: timestamp,
    resolvedAt: timestamp.nullable().describe('Null while it is open.'),
    durationSeconds: z.int().min(0).describe('Whole seconds; of an open incident until now.'),
    cause: errorReasonSchema.nullable().describe('Why the check failed that opened it.'),
    region: z.string().describe('Of the check that opened it.'),
  })
  .meta({ id: 'Incident', description: 'A time in which a monitor was `DOWN`.' });
export type Incident = z.infer<typeof incidentSchema>;

const STATES = ['open', 'resolved'] as const;

/** Query of the list of incidents. */
export const incidentsQuerySchema = z.object({
  state: z
    .enum(STATES, { error: `must be one of ${STATES.join(', ')}` })
    .optional()
    .describe('Only those in this state.'),
  monitorId: z
    .uuid({ error: 'must be the id of a monitor' })
    .optional()
    .describe('Only those of this monitor.'),
  limit: pageLimit,
  before: pageBefore,
});
export type IncidentsQuery = z.infer<typeof incidentsQuerySchema>;
