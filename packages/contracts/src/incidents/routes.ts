import { z } from 'zod';
import { EVENT, INCIDENT, INCIDENT_NOTE } from '../routes/examples.ts';
import { defineRoutes, noFields } from '../routes/route.ts';
import { incidentSchema, incidentsQuerySchema } from './incident.ts';
import { incidentNoteSchema, timelineSchema, writeNoteSchema } from './timeline.ts';

const resource = 'incident';
const response = z.strictObject({ incident: incidentSchema });
const { author } = INCIDENT_NOTE;
const acknowledged = {
  ...INCIDENT,
  acknowledgedAt: '2026-11-20T12:01:00.000Z',
  acknowledgedBy: author,
};

const note = {
  resource,
  path: z.object({ noteId: z.uuid().describe('The id of the note.') }),
} as const;
const noteResponse = z.strictObject({ note: incidentNoteSchema });
const noteExample = { text: INCIDENT_NOTE.text };

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
    resource,
    response,
    responseExample: { incident: INCIDENT },
  },
  acknowledgeIncident: {
    endpoint: 'PUT /api/dashboard/incidents/:id/acknowledgement',
    summary: 'Acknowledge an incident',
    description:
      'Tells everyone that you work on it. Alerts do not change. One user at a time: if another user has acknowledged it, the response is 409 and names that user. To take over, remove the acknowledgement first. A resolved incident can no longer be acknowledged.',
    resource,
    body: noFields,
    response,
    responseExample: { incident: acknowledged },
    errors: ['conflict'],
  },
  unacknowledgeIncident: {
    endpoint: 'DELETE /api/dashboard/incidents/:id/acknowledgement',
    summary: 'Remove an acknowledgement',
    description: "Any user may remove it, also another user's. That of a resolved incident stays.",
    resource,
    response,
    responseExample: { incident: INCIDENT },
    errors: ['conflict'],
  },
  createIncidentNote: {
    endpoint: 'POST /api/dashboard/incidents/:id/notes',
    summary: 'Add a note to an incident',
    resource,
    body: writeNoteSchema,
    bodyExample: noteExample,
    status: 201,
    response: noteResponse,
    responseExample: { note: INCIDENT_NOTE },
    errors: ['conflict'],
  },
  updateIncidentNote: {
    endpoint: 'PATCH /api/dashboard/incidents/:id/notes/:noteId',
    summary: 'Edit a note',
    description: 'Only its author may edit it.',
    ...note,
    body: writeNoteSchema,
    bodyExample: noteExample,
    response: noteResponse,
    responseExample: { note: { ...INCIDENT_NOTE, editedAt: '2026-11-20T12:02:00.000Z' } },
    errors: ['author_required'],
  },
  deleteIncidentNote: {
    endpoint: 'DELETE /api/dashboard/incidents/:id/notes/:noteId',
    summary: 'Delete a note',
    description: 'Only its author or an owner of the account may delete it.',
    ...note,
    errors: ['author_required'],
  },
  getIncidentTimeline: {
    endpoint: 'GET /api/dashboard/incidents/:id/timeline',
    summary: 'Get the timeline of an incident',
    description: `What happened around an incident, each with its time:

- \`check\`: a sample. The last check that passed before, those that made the incident, every other one whose result differs from the one before in its region, and the first that passed again.
- \`opened\` and \`resolved\`: the incident itself. \`status-change\`: those in between, such as the start of maintenance.
- \`delivery\`: webhooks, when they were created, with their latest state.
- \`maintenance\`: occurrences that overlap it, of windows that cover the monitor now.
- \`configuration\`: changes of the monitor, from 24 hours before it opened.
- \`acknowledged\` and \`acknowledgement-removed\`: every acknowledgement, including those that were removed.
- \`note\`.

Checks, deliveries and status changes are there as long as they are kept.`,
    resource,
    response: timelineSchema,
    responseExample: {
      entries: [
        { kind: 'check', timestamp: EVENT.timestamp, check: EVENT },
        { kind: 'opened', timestamp: INCIDENT.openedAt },
        { kind: 'note', timestamp: INCIDENT_NOTE.createdAt, note: INCIDENT_NOTE },
      ],
      complete: true,
    },
  },
});
