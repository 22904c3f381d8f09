import { createHealthHandler } from '@tocsin/runtime/health';
import { isTracing } from '@tocsin/runtime/tracing';
import express, { Router } from 'express';
import type { Express } from 'express';
import helmet from 'helmet';
import { authenticate, limitRate } from './access/access.ts';
import type { ApiContext } from './context.ts';
import { serveDashboard } from './dashboard-files/serve-dashboard.ts';
import { dashboardRouter } from './dashboard/router.ts';
import { handleErrors } from './http/errors.ts';
import { observeRequests, traceRequests } from './http/observe-requests.ts';
import { assignRequestId, repairPath } from './http/request-state.ts';
import { notFound, resource } from './http/resource.ts';
import { keepPrivate } from './http/response-headers.ts';
import { authRouter } from './identity/auth-router.ts';
import { putSetStages } from './monitor-sets/put-set.ts';
import { monitorsRouter } from './monitors/router.ts';
import { fileSchemaHandler, openApiHandler } from './openapi/serve-document.ts';

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
  app.use(openRouter(context));
  app.use('/api/cli', cliRouter(context));
  app.use('/api/auth', authRouter(context));
  app.use('/api/dashboard', dashboardRouter(context));
  if (dashboardDir !== null) app.use(serveDashboard(dashboardDir));
  app.use(notFound);
  app.use(handleErrors(context.logger));
  return app;
}

/** The API for machines: each request but for its description has an API key, and its answers may hold secrets of the account. */
function cliRouter(context: ApiContext): Router {
  const router = Router({ caseSensitive: true });
  const { rateLimitPerMinute } = context.settings;
  // What the API is, is no secret.
  resource(router, '/openapi.json', { get: [openApiHandler(context)] });
  router.use(authenticate(context), keepPrivate);
  if (rateLimitPerMinute > 0) router.use(limitRate(rateLimitPerMinute));
  router.use('/monitors', monitorsRouter(context, putSetStages(context)));
  router.use(notFound);
  return router;
}

/** What needs no key, outside of `/api`: `/healthz`, `/readyz` and `/metrics` (design §3), and the schema for editors. */
function openRouter({ ready, metrics }: ApiContext): Router {
  const router = Router({ caseSensitive: true });
  const health = createHealthHandler({ ready, metrics });
  for (const path of ['/healthz', '/readyz', '/metrics']) {
    resource(router, path, {
      get: [
        async (req, res, next) => {
          const answer = await health(req.originalUrl);
          if (answer === null) next();
          else
            res
              .status(answer.status)
              .type(answer.contentType)
              .set('Cache-Control', 'no-store')
              .send(answer.body);
        },
      ],
    });
  }
  resource(router, '/schemas/tocsin.json', { get: [fileSchemaHandler()] });
  return router;
}
