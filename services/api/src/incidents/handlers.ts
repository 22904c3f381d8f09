import { incidentRoutes } from '@tocsin/contracts/incidents/routes';
import { getIncident, listIncidents } from '@tocsin/db/incidents/read-incidents';
import { readTimeline } from '@tocsin/db/incidents/read-timeline';
import {
  acknowledgeIncident,
  createNote,
  deleteNote,
  unacknowledgeIncident,
  updateNote,
} from '@tocsin/db/incidents/write-incidents';
import { implement, SENT } from '../http/implement.ts';

export const incidentApi = implement(incidentRoutes, ({ db }) => ({
  listIncidents: async ({ caller, query }) => ({
    incidents: await listIncidents(db, caller.accountId, query),
  }),
  getIncident: async ({ caller, id }) => ({ incident: await getIncident(db, caller.accountId, id) }),
  acknowledgeIncident: async ({ caller, id }) => ({ incident: await acknowledgeIncident(db, caller, id) }),
  unacknowledgeIncident: async ({ caller, id }) => ({
    incident: await unacknowledgeIncident(db, caller, id),
  }),
  createIncidentNote: async ({ caller, id, body }) => ({
    note: await createNote(db, caller, id, body.text),
  }),
  updateIncidentNote: async ({ caller, id, path, body }) => ({
    note: await updateNote(db, caller, id, path.noteId, body.text),
  }),
  deleteIncidentNote: ({ caller, id, path }) => deleteNote(db, caller, id, path.noteId),
  getIncidentTimeline: async ({ caller, id, res }) =>
    (await readTimeline(db, caller.accountId, id, () => !res.destroyed)) ?? SENT,
}));
