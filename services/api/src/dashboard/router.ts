import { Router } from 'express';
import { authenticateSession, limitRate, requireTrustedOrigin } from '../access/access.ts';
import { apiKeysRouter } from '../api-keys/router.ts';
import { channelsRouter } from '../channels/router.ts';
import type { ApiContext } from '../context.ts';
import { deliveriesRouter } from '../deliveries/router.ts';
import { parseJsonBody } from '../http/json-body.ts';
import { notFound, resource } from '../http/resource.ts';
import { compress, keepPrivate } from '../http/response-headers.ts';
import { incidentsRouter } from '../incidents/router.ts';
import { acceptInvitationHandler } from '../invitations/accept-invitation.ts';
import { invitationsRouter } from '../invitations/router.ts';
import { openStreamHandler } from '../live-stream/open-stream.ts';
import { maintenanceWindowsRouter } from '../maintenance-windows/router.ts';
import { getStatsHandler } from '../monitors/get-stats.ts';
import { listMonitorRegionsHandler } from '../monitors/list-monitor-regions.ts';
import { listRecentChecksHandler } from '../monitors/list-recent-checks.ts';
import { requireMonitorId } from '../monitors/monitor-id.ts';
import { monitorsRouter } from '../monitors/router.ts';
import { regionsRouter } from '../regions/router.ts';
import { usersRouter } from '../users/router.ts';
import { meHandler } from './me.ts';
import { signInMethodsHandler } from './sign-in-methods.ts';

/** The API for browsers (design §3 "Dashboard API"): the same errors and scoping as `/api/cli`, by session instead of key. */
export function dashboardRouter(context: ApiContext): Router {
  const { rateLimitPerMinute, trustedOrigins } = context.settings;
  const router = Router({ caseSensitive: true });
  router.use(keepPrivate, requireTrustedOrigin(trustedOrigins));
  // Without a session: how to get one.
  resource(router, '/sign-in-methods', { get: [signInMethodsHandler(context)] });
  resource(router, '/invitations/accept', { post: [parseJsonBody, acceptInvitationHandler(context)] });
  router.use(authenticateSession(context));
  if (rateLimitPerMinute > 0) router.use(limitRate(rateLimitPerMinute));
  resource(router, '/me', { get: [meHandler(context)] });
  // Before `compress`, which would hold messages back.
  resource(router, '/stream', { get: [openStreamHandler(context)] });
  router.use(compress);
  router.use('/api-keys', apiKeysRouter(context));
  router.use('/users', usersRouter(context));
  router.use('/invitations', invitationsRouter(context));
  resource(router, '/monitors/recent-checks', { get: [listRecentChecksHandler(context)] });
  resource(router, '/monitors/:id/stats', { get: [requireMonitorId, getStatsHandler(context)] });
  resource(router, '/monitors/:id/regions', {
    get: [requireMonitorId, listMonitorRegionsHandler(context)],
  });
  router.use('/monitors', monitorsRouter(context));
  router.use('/channels', channelsRouter(context));
  router.use('/deliveries', deliveriesRouter(context));
  router.use('/incidents', incidentsRouter(context));
  router.use('/regions', regionsRouter(context));
  router.use('/maintenance-windows', maintenanceWindowsRouter(context));
  router.use(notFound);
  return router;
}
