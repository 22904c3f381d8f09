import { deliveryNotFound, findDeliveryRow } from '@tocsin/db/deliveries/read-deliveries';
import { Router } from 'express';
import type { ApiContext } from '../context.ts';
import { parseJsonBody } from '../http/json-body.ts';
import { requireNoFields } from '../http/parse-fields.ts';
import { requirePathId } from '../http/path-id.ts';
import { resource } from '../http/resource.ts';
import { getDeliveryHandler } from './get-delivery.ts';
import { redeliverHandler } from './redeliver.ts';

/** Single deliveries; a channel's log is under the channel (design §3 "Dashboard API"). */
export function deliveriesRouter(context: ApiContext): Router {
  const router = Router({ caseSensitive: true });
  const requireId = requirePathId(deliveryNotFound);
  const requireNothing = requireNoFields((accountId, id) => findDeliveryRow(context.db, accountId, id));
  resource(router, '/:id', {
    get: [requireId, getDeliveryHandler(context)],
  });
  resource(router, '/:id/redeliver', {
    post: [parseJsonBody, requireId, requireNothing, redeliverHandler(context)],
  });
  return router;
}
