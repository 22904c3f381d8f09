import type { Request, RequestHandler } from 'express';

/** A version as an ETag. */
export function etagOf(version: string): string {
  return `"${version}"`;
}

/**
 * The versions that an `If-Match` names, any of which will do; null: it names none, or `*`, which any monitor there is meets. Weak
 * ETags match too, against RFC 9110 section 13.1.1: proxies that compress make ours weak, and they are of what is stored, not of bytes.
 */
export function ifMatchOf(req: Request): ReadonlySet<string> | null {
  const header = req.get('if-match');
  if (header === undefined || header.trim() === '*') return null;
  return new Set([...header.matchAll(/(?:^|,)[ \t]*(?:W\/)?"([^"]*)"/g)].map(([, version = '']) => version));
}

/**
 * For answers whose ETag is of what can be changed, while they tell of events too: Express would say 304 by it, and keep new events
 * from whoever asks.
 */
export const answerInFull: RequestHandler = (req, _res, next) => {
  delete req.headers['if-none-match'];
  next();
};
