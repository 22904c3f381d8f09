import { Router } from 'express';
import type { RequestHandler } from 'express';
import { requireWrite, requireWriteIf } from '../access/access.ts';
import type { ApiContext } from '../context.ts';
import { bodyOf, parseJsonBody } from '../http/json-body.ts';
import { answerInFull } from '../http/request-headers.ts';
import { resource } from '../http/resource.ts';
import { keepUncompressed } from '../http/response-headers.ts';
import { createMonitorHandler } from './create-monitor.ts';
import { deleteMonitorHandler } from './delete-monitor.ts';
import { getMonitorHandler } from './get-monitor.ts';
import { listEventsHandler } from './list-events.ts';
import { listMonitorsHandler } from './list-monitors.ts';
import { requireMonitorId } from './monitor-id.ts';
import { overridesUrl } from './trigger-body.ts';
import { triggerMonitorHandler } from './trigger-monitor.ts';
import { updateMonitorHandler } from './update-monitor.ts';

/**
 * The monitors API (specification "Endpoints"). The order of the stages is the order of errors (design §3).
 * @param putSet applies a set, where the API takes sets
 */
export function monitorsRouter(context: ApiContext, putSet?: readonly RequestHandler[]): Router {
  const router = Router({ caseSensitive: true });
  resource(router, '/', {
    get: [listMonitorsHandler(context)],
    post: [parseJsonBody, requireWrite, createMonitorHandler(context)],
    ...(putSet && { put: putSet }),
  });
  resource(router, '/:id', {
    // Custom headers in clear, beside what targets said in the details of errors.
    get: [keepUncompressed, answerInFull, requireMonitorId, getMonitorHandler(context)],
    put: [parseJsonBody, requireWrite, requireMonitorId, updateMonitorHandler(context)],
    delete: [requireWrite, requireMonitorId, deleteMonitorHandler(context)],
  });
  resource(router, '/:id/trigger', {
    post: [
      parseJsonBody,
      requireWriteIf((req) => overridesUrl(bodyOf(req))),
      requireMonitorId,
      triggerMonitorHandler(context),
    ],
  });
  resource(router, '/:id/events', {
    get: [requireMonitorId, listEventsHandler(context)],
  });
  return router;
}
