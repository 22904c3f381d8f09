import { createHash } from 'node:crypto';
import { gzipSync } from 'node:zlib';
import { monitorFileJsonSchema } from '@tocsin/contracts/monitor-sets/monitor-file';
import type { serviceRoutes } from '@tocsin/contracts/service/routes';
import { createHealthHandler } from '@tocsin/runtime/health';
import type { Request, Response } from 'express';
import type { ApiContext } from '../context.ts';
import { SENT } from '../http/implement.ts';
import type { Handlers } from '../http/implement.ts';
import { buildDocument } from '../openapi/document.ts';

type Exchange = Readonly<{ req: Request; res: Response }>;

export function serviceHandlers(context: ApiContext): Handlers<typeof serviceRoutes> {
  const { ready, metrics, settings, identity } = context;
  const health = createHealthHandler({ ready, metrics });
  const sendHealth = async ({ req, res }: Exchange): Promise<typeof SENT> => {
    const response = await health(req.originalUrl);
    if (response === null) throw new Error(`the health handler does not know ${req.path}`);
    const { status, contentType, body } = response;
    res.status(status).type(contentType).set('Cache-Control', 'no-store').send(body);
    return SENT;
  };
  return {
    getOpenApi: documentHandler(() => buildDocument(settings.publicUrl)),
    getFileSchema: documentHandler(monitorFileJsonSchema),
    listSignInMethods: () => ({
      methods: identity.hasSingleSignOn ? ['password', 'oidc'] : ['password'],
    }),
    getHealth: sendHealth,
    getReadiness: sendHealth,
    getMetrics: sendHealth,
  };
}

/** Sends a public document. It is built once, at the first request, because requests without a key must be cheap. */
function documentHandler(build: () => object): (exchange: Exchange) => typeof SENT {
  let built: { readonly text: Buffer; readonly gzipped: Buffer; readonly etag: string } | undefined;
  return ({ req, res }) => {
    if (built === undefined) {
      const text = Buffer.from(JSON.stringify(build()));
      // Weak, since it is the same for both encodings.
      const etag = `W/"${createHash('sha256').update(text).digest('base64url')}"`;
      built = { text, gzipped: gzipSync(text), etag };
    }
    res.set({ 'Cache-Control': 'no-cache', ETag: built.etag }).vary('Accept-Encoding').type('json');
    if (req.acceptsEncodings('gzip') === false) res.send(built.text);
    else res.set('Content-Encoding', 'gzip').send(built.gzipped);
    return SENT;
  };
}
