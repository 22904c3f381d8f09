import { accountRoutes } from '../accounts/routes.ts';
import { agentTokenRoutes } from '../agents/routes.ts';
import { apiKeyRoutes } from '../api-keys/routes.ts';
import { auditLogRoutes } from '../audit-log/routes.ts';
import { channelRoutes } from '../channels/routes.ts';
import { deliveryRoutes } from '../deliveries/routes.ts';
import { signInRoutes, singleSignOnRoutes } from '../identity/routes.ts';
import { incidentRoutes } from '../incidents/routes.ts';
import { streamRoutes } from '../live-stream/routes.ts';
import { maintenanceWindowRoutes } from '../maintenance-windows/routes.ts';
import { monitorSetRoutes } from '../monitor-sets/routes.ts';
import { bulkMonitorRoutes } from '../monitors/bulk-routes.ts';
import { monitorLookupRoutes, monitorRoutes, monitorViewRoutes } from '../monitors/routes.ts';
import { peopleRoutes } from '../people/routes.ts';
import { regionRoutes } from '../regions/routes.ts';
import { reportRoutes } from '../reports/routes.ts';
import { serviceRoutes } from '../service/routes.ts';
import type { Route, Routes } from './route.ts';

/** Every route except those that better-auth handles, by operation id. */
export const API_ROUTES = {
  ...monitorRoutes,
  ...monitorLookupRoutes,
  ...monitorSetRoutes,
  ...bulkMonitorRoutes,
  ...monitorViewRoutes,
  ...streamRoutes,
  ...channelRoutes,
  ...deliveryRoutes,
  ...incidentRoutes,
  ...reportRoutes,
  ...maintenanceWindowRoutes,
  ...regionRoutes,
  ...agentTokenRoutes,
  ...apiKeyRoutes,
  ...peopleRoutes,
  ...accountRoutes,
  ...auditLogRoutes,
  ...serviceRoutes,
};

/** Routes that better-auth handles. */
export const AUTH_ROUTES = { ...signInRoutes, ...singleSignOnRoutes };

/** The type of the dashboard's client. */
export type DashboardRoutes = typeof API_ROUTES & typeof AUTH_ROUTES;

/** @returns the routes of a table by endpoint, such as `GET /api/cli/monitors/:id` */
export function byEndpoint(table: Routes): Readonly<Record<string, Route>> {
  return Object.fromEntries(Object.values(table).map((route) => [route.endpoint, route]));
}
