import { createHash } from 'node:crypto';
import { gzipSync } from 'node:zlib';
import { monitorFileJsonSchema } from '@tocsin/contracts/monitor-sets/monitor-file';
import type { RequestHandler } from 'express';
import type { ApiContext } from '../context.ts';
import { buildDocument } from './document.ts';

/** As it is answered: made once, so that who asks without a key costs nothing. */
interface Served {
  readonly text: Buffer;
  readonly gzipped: Buffer;
  readonly etag: string;
}

/** `/api/cli/openapi.json` */
export function openApiHandler({ settings }: Pick<ApiContext, 'settings'>): RequestHandler {
  return documentHandler(() => buildDocument(settings.publicUrl));
}

/** `/schemas/tocsin.json`: what editors know of a file of monitors. */
export function fileSchemaHandler(): RequestHandler {
  return documentHandler(monitorFileJsonSchema);
}

/** The same for everybody, and no secret. It is made when it is first asked for. */
function documentHandler(build: () => object): RequestHandler {
  let served: Served | undefined;
  return function answerDocument(req, res) {
    served ??= make(build());
    const { text, gzipped, etag } = served;
    res.set({ 'Cache-Control': 'no-cache', ETag: etag }).vary('Accept-Encoding').type('json');
    if (req.acceptsEncodings('gzip') === false) res.send(text);
    else res.set('Content-Encoding', 'gzip').send(gzipped);
  };
}

function make(document: object): Served {
  const text = Buffer.from(JSON.stringify(document));
  // Weak: one for both codings.
  const etag = `W/"${createHash('sha256').update(text).digest('base64url')}"`;
  return { text, gzipped: gzipSync(text), etag };
}
