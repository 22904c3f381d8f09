import { apiKeyRoutes } from '@tocsin/contracts/api-keys/routes';
import { channelRoutes } from '@tocsin/contracts/channels/routes';
import { deliveryRoutes } from '@tocsin/contracts/deliveries/routes';
import { signInRoutes, singleSignOnRoutes } from '@tocsin/contracts/identity/routes';
import { incidentRoutes } from '@tocsin/contracts/incidents/routes';
import { streamRoutes } from '@tocsin/contracts/live-stream/routes';
import { maintenanceWindowRoutes } from '@tocsin/contracts/maintenance-windows/routes';
import { monitorSetRoutes } from '@tocsin/contracts/monitor-sets/routes';
import { dashboardMonitorRoutes, monitorRoutes, monitorViewRoutes } from '@tocsin/contracts/monitors/routes';
import { peopleRoutes } from '@tocsin/contracts/people/routes';
import { regionRoutes } from '@tocsin/contracts/regions/routes';
import { serviceRoutes } from '@tocsin/contracts/service/routes';
import { isTracing } from '@tocsin/runtime/tracing';
import express from 'express';
import type { Express } from 'express';
import helmet from 'helmet';
import { createGuards } from './access/access.ts';
import { apiKeyHandlers } from './api-keys/handlers.ts';
import { channelHandlers } from './channels/handlers.ts';
import type { ApiContext } from './context.ts';
import { serveApiReference } from './dashboard-files/api-reference.ts';
import { serveDashboard } from './dashboard-files/serve-dashboard.ts';
import { deliveryHandlers } from './deliveries/handlers.ts';
import { handleErrors } from './http/errors.ts';
import { implement, type Implementation } from './http/implement.ts';
import { observeRequests, traceRequests } from './http/observe-requests.ts';
import { assignRequestId, repairPath } from './http/request-state.ts';
import { createRouter, notFound } from './http/router.ts';
import { authHandlers } from './identity/handlers.ts';
import { incidentHandlers } from './incidents/handlers.ts';
import { streamHandlers } from './live-stream/handlers.ts';
import { maintenanceWindowHandlers } from './maintenance-windows/handlers.ts';
import { monitorSetHandlers } from './monitor-sets/handlers.ts';
import { dashboardMonitorHandlers, monitorHandlers, monitorViewHandlers } from './monitors/handlers.ts';
import { peopleHandlers } from './people/handlers.ts';
import { regionHandlers } from './regions/handlers.ts';
import { serviceHandlers } from './service/handlers.ts';

/** The whole HTTP side of the api, ready to listen. */
export function createApp(context: ApiContext): Express {
  const { trustProxy, dashboardDir, hstsIncludeSubDomains } = context.settings;
  const secureHeaders = helmet({ strictTransportSecurity: { includeSubDomains: hstsIncludeSubDomains } });
  const app = express();
  app.disable('x-powered-by');
  app.disable('etag');
  app.enable('case sensitive routing');
  app.set('trust proxy', typeof trustProxy === 'object' ? [...trustProxy] : trustProxy);
  app.use(assignRequestId, observeRequests(context.logger, context.metrics), secureHeaders, repairPath);
  if (isTracing()) app.use(traceRequests);
  app.use(createRouter(implementRoutes(context), createGuards(context)));
  app.use(serveApiReference());
  if (dashboardDir !== null) app.use(serveDashboard(dashboardDir));
  app.use(notFound);
  app.use(handleErrors(context.logger));
  return app;
}

/** Every route of the api. */
export function implementRoutes(context: ApiContext): Implementation[] {
  const { identity } = context;
  const singleSignOn = authHandlers(singleSignOnRoutes, (request) => identity.handleSingleSignOn(request));
  return [
    ...implement(context, monitorRoutes, monitorHandlers(context)),
    ...implement(context, dashboardMonitorRoutes, dashboardMonitorHandlers(context)),
    ...implement(context, monitorViewRoutes, monitorViewHandlers(context)),
    ...implement(context, monitorSetRoutes, monitorSetHandlers(context)),
    ...implement(context, streamRoutes, streamHandlers(context)),
    ...implement(context, channelRoutes, channelHandlers(context)),
    ...implement(context, deliveryRoutes, deliveryHandlers(context)),
    ...implement(context, incidentRoutes, incidentHandlers(context)),
    ...implement(context, maintenanceWindowRoutes, maintenanceWindowHandlers(context)),
    ...implement(context, regionRoutes, regionHandlers(context)),
    ...implement(context, apiKeyRoutes, apiKeyHandlers(context)),
    ...implement(context, peopleRoutes, peopleHandlers(context)),
    ...implement(context, serviceRoutes, serviceHandlers(context)),
    ...implement(
      context,
      signInRoutes,
      authHandlers(signInRoutes, (request) => identity.handle(request)),
    ),
    ...(identity.hasSingleSignOn ? implement(context, singleSignOnRoutes, singleSignOn) : []),
  ];
}
