import { incidentRoutes } from '@tocsin/contracts/incidents/routes';
import { getIncident, listIncidents } from '@tocsin/db/incidents/read-incidents';
import { implement } from '../http/implement.ts';

export const incidentApi = implement(incidentRoutes, ({ db }) => ({
  listIncidents: async ({ caller, query }) => ({
    incidents: await listIncidents(db, caller.accountId, query),
  }),
  getIncident: async ({ caller, id }) => ({ incident: await getIncident(db, caller.accountId, id) }),
}));
