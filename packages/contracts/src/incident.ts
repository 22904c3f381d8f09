import { z } from 'zod';
import { pageBefore } from './channel-delivery.ts';
import { errorReasonSchema } from './event.ts';
import { pageLimit } from './events-query.ts';

const timestamp = z.iso.datetime({ precision: 3 });

/** An incident as the dashboard API answers it (design §3 "Dashboard API"). */
export const incidentSchema = z
  .strictObject({
    id: z.uuid(),
    monitorId: z.uuid(),
    monitorName: z.string(),
    openedAt: timestamp,
    /** Null while it is open. */
    resolvedAt: timestamp.nullable(),
    /** Whole seconds; of an open incident until now. */
    durationSeconds: z.int().min(0),
    cause: errorReasonSchema.nullable(),
    region: z.string(),
  })
  .meta({ id: 'Incident' });
export type Incident = z.infer<typeof incidentSchema>;

const STATES = ['open', 'resolved'] as const;

/** Query of the list of incidents. */
export const incidentsQuerySchema = z.object({
  state: z.enum(STATES, { error: `must be one of ${STATES.join(', ')}` }).optional(),
  monitorId: z.uuid({ error: 'must be the id of a monitor' }).optional(),
  limit: pageLimit,
  before: pageBefore,
});
export type IncidentsQuery = z.infer<typeof incidentsQuerySchema>;
