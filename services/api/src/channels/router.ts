import { channelNotFound, findChannelRow } from '@tocsin/db/channels/read-channels';
import { Router } from 'express';
import { requireOwner } from '../access/access.ts';
import type { ApiContext } from '../context.ts';
import { listDeliveriesHandler } from '../deliveries/list-deliveries.ts';
import { redeliverChannelHandler } from '../deliveries/redeliver-channel.ts';
import { parseJsonBody } from '../http/json-body.ts';
import { requireNoFields } from '../http/parse-fields.ts';
import { requirePathId } from '../http/path-id.ts';
import { resource } from '../http/resource.ts';
import { keepUncompressed } from '../http/response-headers.ts';
import { createChannelHandler } from './create-channel.ts';
import { deleteChannelHandler } from './delete-channel.ts';
import { getChannelHandler } from './get-channel.ts';
import { listChannelsHandler } from './list-channels.ts';
import { revealSecretHandler } from './reveal-secret.ts';
import { rotateSecretHandler } from './rotate-secret.ts';
import { testChannelHandler } from './test-channel.ts';
import { updateChannelHandler } from './update-channel.ts';

/** Webhook channels (design §3 "Dashboard API"). The order of the stages is the order of errors. */
export function channelsRouter(context: ApiContext): Router {
  const router = Router({ caseSensitive: true });
  const requireId = requirePathId(channelNotFound);
  const requireNothing = requireNoFields((accountId, id) => findChannelRow(context.db, accountId, id));
  resource(router, '/', {
    get: [listChannelsHandler(context)],
    post: [keepUncompressed, parseJsonBody, createChannelHandler(context)],
  });
  resource(router, '/:id', {
    get: [requireId, getChannelHandler(context)],
    patch: [parseJsonBody, requireId, updateChannelHandler(context)],
    delete: [requireId, deleteChannelHandler(context)],
  });
  resource(router, '/:id/secret', {
    get: [keepUncompressed, requireOwner, requireId, revealSecretHandler(context)],
  });
  resource(router, '/:id/rotate-secret', {
    post: [
      keepUncompressed,
      parseJsonBody,
      requireOwner,
      requireId,
      requireNothing,
      rotateSecretHandler(context),
    ],
  });
  resource(router, '/:id/test', {
    post: [parseJsonBody, requireId, requireNothing, testChannelHandler(context)],
  });
  resource(router, '/:id/deliveries', {
    get: [requireId, listDeliveriesHandler(context)],
  });
  resource(router, '/:id/redeliver', {
    post: [parseJsonBody, requireId, redeliverChannelHandler(context)],
  });
  return router;
}
