import { incidentNotFound } from '@tocsin/db/incidents/read-incidents';
import { Router } from 'express';
import type { ApiContext } from '../context.ts';
import { requirePathId } from '../http/path-id.ts';
import { resource } from '../http/resource.ts';
import { getIncidentHandler } from './get-incident.ts';
import { listIncidentsHandler } from './list-incidents.ts';

/** Incidents, which the service opens and resolves (design §3 "Dashboard API"). */
export function incidentsRouter(context: ApiContext): Router {
  const router = Router({ caseSensitive: true });
  resource(router, '/', {
    get: [listIncidentsHandler(context)],
  });
  resource(router, '/:id', {
    get: [requirePathId(incidentNotFound), getIncidentHandler(context)],
  });
  return router;
}
