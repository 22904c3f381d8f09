import type { incidentRoutes } from '@tocsin/contracts/incidents/routes';
import { getIncident, listIncidents } from '@tocsin/db/incidents/read-incidents';
import type { ApiContext } from '../context.ts';
import type { Handlers } from '../http/implement.ts';

export function incidentHandlers({ db }: ApiContext): Handlers<typeof incidentRoutes> {
  return {
    listIncidents: async ({ caller, query }) => ({
      incidents: await listIncidents(db, caller.accountId, query),
    }),
    getIncident: async ({ caller, id }) => ({ incident: await getIncident(db, caller.accountId, id) }),
  };
}
