import { z } from 'zod';
import { component, pageBefore, pageLimit, timestamp } from '../fields.ts';
import { errorReasonSchema } from '../monitors/events.ts';

export const personSchema = component(
  'Person',
  'A user with the name at that time, which remains after the user is removed.',
  { id: z.uuid(), name: z.string() },
);

export const incidentSchema = component('Incident', 'A period in which a monitor was `DOWN`.', {
  id: z.uuid(),
  monitorId: z.uuid(),
  monitorName: z.string(),
  openedAt: timestamp,
  resolvedAt: timestamp.nullable().describe('Null while it is open.'),
  durationSeconds: z
    .int()
    .min(0)
    .describe('Whole seconds, without times that had no results; until now if it is open.'),
  cause: errorReasonSchema.nullable().describe('Why the check that opened it failed.'),
  errorDetail: z.string().nullable().describe('Details of `cause`, for people.'),
  region: z.string().describe('Region of the check that opened it.'),
  acknowledgedAt: timestamp.nullable().describe('When someone took it on. Null if nobody has.'),
  acknowledgedBy: personSchema.nullable(),
});
export type Incident = z.infer<typeof incidentSchema>;

const STATES = ['open', 'resolved'] as const;

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
