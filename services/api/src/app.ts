import { isTracing } from '@tocsin/runtime/tracing';
import express from 'express';
import type { Express } from 'express';
import helmet from 'helmet';
import { createGuards } from './access/access.ts';
import { accountApi } from './accounts/handlers.ts';
import { agentTokenApi } from './agents/handlers.ts';
import { apiKeyApi } from './api-keys/handlers.ts';
import { auditLogApi } from './audit-log/handlers.ts';
import { channelApi } from './channels/handlers.ts';
import type { ApiContext } from './context.ts';
import { serveApiReference } from './dashboard-files/api-reference.ts';
import { serveDashboard } from './dashboard-files/serve-dashboard.ts';
import { deliveryApi } from './deliveries/handlers.ts';
import { handleErrors } from './http/errors.ts';
import type { Implementation } from './http/implement.ts';
import { observeRequests, traceRequests } from './http/observe-requests.ts';
import { assignRequestId, repairPath } from './http/request-state.ts';
import { createRouter, notFound } from './http/router.ts';
import { signInApi, singleSignOnApi } from './identity/handlers.ts';
import { incidentApi } from './incidents/handlers.ts';
import { streamApi } from './live-stream/handlers.ts';
import { maintenanceWindowApi } from './maintenance-windows/handlers.ts';
import { monitorSetApi } from './monitor-sets/handlers.ts';
import { bulkMonitorApi } from './monitors/bulk-handlers.ts';
import { monitorApi, monitorLookupApi, monitorViewApi } from './monitors/handlers.ts';
import { peopleApi } from './people/handlers.ts';
import { regionApi } from './regions/handlers.ts';
import { reportApi } from './reports/handlers.ts';
import { serviceApi } from './service/handlers.ts';

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

const APIS = [
  monitorApi,
  monitorLookupApi,
  bulkMonitorApi,
  monitorViewApi,
  monitorSetApi,
  streamApi,
  channelApi,
  deliveryApi,
  incidentApi,
  reportApi,
  maintenanceWindowApi,
  regionApi,
  agentTokenApi,
  apiKeyApi,
  peopleApi,
  accountApi,
  auditLogApi,
  serviceApi,
  signInApi,
];

export function implementRoutes(context: ApiContext): Implementation[] {
  const apis = context.identity.hasSingleSignOn ? [...APIS, singleSignOnApi] : APIS;
  return apis.flatMap((api) => api(context));
}
