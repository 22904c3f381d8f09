import { createHash } from 'node:crypto';
import { gzipSync } from 'node:zlib';
import type { Request, Response } from 'express';
import { weakEtagOf } from './headers.ts';

/** Sends a public document, built and compressed once, because unauthenticated requests must be cheap. @param type for `res.type` */
export function publicDocument(
  type: string,
  build: () => string | Buffer,
): (req: Request, res: Response) => void {
  let built: { readonly text: Buffer; readonly gzipped: Buffer; readonly etag: string } | undefined;
  return function sendDocument(req, res) {
    if (built === undefined) {
      const text = Buffer.from(build());
      const etag = weakEtagOf(createHash('sha256').update(text).digest('base64url'));
      built = { text, gzipped: gzipSync(text), etag };
    }
    res.set({ 'Cache-Control': 'no-cache', ETag: built.etag }).vary('Accept-Encoding').type(type);
    if (req.acceptsEncodings('gzip') === false) res.send(built.text);
    else res.set('Content-Encoding', 'gzip').send(built.gzipped);
  };
}
