import { monitorFileJsonSchema } from '@tocsin/contracts/monitor-sets/monitor-file';
import { serviceRoutes } from '@tocsin/contracts/service/routes';
import { hasUsers } from '@tocsin/db/users/users';
import { createHealthHandler } from '@tocsin/runtime/health';
import type { Request, Response } from 'express';
import { trustedOrigins } from '../access/origins.ts';
import { type Handlers, implement, SENT } from '../http/implement.ts';
import { publicDocument } from '../http/public-document.ts';
import { buildDocument } from '../openapi/document.ts';

type Exchange = Readonly<{ req: Request; res: Response }>;

export const serviceApi = implement(serviceRoutes, (context): Handlers<typeof serviceRoutes> => {
  const { ready, metrics, settings, identity } = context;
  const health = createHealthHandler({ ready, metrics });
  /** @param path without the trailing slash that the client may have added */
  const sendHealth =
    (path: string) =>
    async ({ req, res }: Exchange): Promise<typeof SENT> => {
      const [, query = ''] = req.originalUrl.split('?', 2);
      const response = await health(`${path}?${query}`);
      if (response === null) throw new Error(`the health handler does not know ${path}`);
      const { status, contentType, body } = response;
      res.status(status).type(contentType).set('Cache-Control', 'no-store').send(body);
      return SENT;
    };
  return {
    getOpenApi: documentHandler(() => buildDocument(settings.publicUrl)),
    getFileSchema: documentHandler(monitorFileJsonSchema),
    listSignInMethods: async () => ({
      hasUsers: await hasUsers(context.db),
      origins: [...trustedOrigins(settings.publicUrl)],
      methods: identity.hasSingleSignOn ? ['password', 'oidc'] : ['password'],
    }),
    getHealth: sendHealth('/healthz'),
    getReadiness: sendHealth('/readyz'),
    getMetrics: sendHealth('/metrics'),
  };
});

function documentHandler(build: () => object): (exchange: Exchange) => typeof SENT {
  const send = publicDocument('json', () => JSON.stringify(build()));
  return ({ req, res }) => {
    send(req, res);
    return SENT;
  };
}
