import compression from 'compression';
import type { RequestHandler } from 'express';
import { callerOf } from './request-state.ts';

/** Compresses responses of a kilobyte or more, except with `no-transform`. */
export const compress: RequestHandler = compression();

/** For long, repetitive text, which the lowest level compresses almost as well in half the CPU time. */
export const compressQuickly: RequestHandler = compression({ level: 1 });

/** For responses with a secret. If compressed together with text that others choose, their length would reveal similarities (BREACH). */
export const keepUncompressed: RequestHandler = (_req, res, next) => {
  res.set('Cache-Control', 'no-store, no-transform');
  next();
};

/** For responses with header values next to error details, which the target chooses. Other callers get placeholders. */
export const keepUncompressedForWriters: RequestHandler = (req, res, next) => {
  if (callerOf(res).canWrite) keepUncompressed(req, res, next);
  else next();
};

/** No cache may store responses, which may contain secrets. */
export const keepPrivate: RequestHandler = (_req, res, next) => {
  res.set('Cache-Control', 'no-store');
  next();
};

function etagOf(version: string): string {
  return `"${version}"`;
}

/** A response whose version is its ETag. */
export function withEtag<Resource extends { readonly version: string }>({
  version,
  ...body
}: Resource): { body: Omit<Resource, 'version'>; headers: { ETag: string } } {
  return { body, headers: { ETag: etagOf(version) } };
}

/** A response to a creation, or to its repetition. */
export function created<Body>(
  body: Body,
  location: string,
  version: string,
  isReplayed: boolean,
): { body: Body; headers: { Location: string; ETag: string; 'Idempotency-Replayed'?: string } } {
  const replayed = isReplayed && { 'Idempotency-Replayed': 'true' };
  return { body, headers: { Location: location, ETag: etagOf(version), ...replayed } };
}

/** Adds its ETag to each record of a list. */
export function withEtags<Item extends object>(
  records: readonly Item[],
  versionOf: (record: Item) => string,
): (Item & { etag: string })[] {
  return records.map((record) => Object.assign(record, { etag: etagOf(versionOf(record)) }));
}

/** A version as an ETag that is the same for every encoding. */
export function weakEtagOf(version: string): string {
  return `W/${etagOf(version)}`;
}

/** True if `If-None-Match` contains this version. */
export function hasVersion(ifNoneMatch: string, version: string): boolean {
  return versionsOf(ifNoneMatch)?.has(version) ?? true;
}

/**
 * The versions in `If-Match` or `If-None-Match`, or null for no header or `*`. Contrary to RFC 9110, section 13.1.1, weak ETags match too,
 * because compressing proxies weaken ours.
 */
export function versionsOf(ifMatch: string | undefined): ReadonlySet<string> | null {
  if (ifMatch === undefined || ifMatch.trim() === '*') return null;
  return new Set([...ifMatch.matchAll(/(?:^|,)[ \t]*(?:W\/)?"([^"]*)"/g)].map(([, version = '']) => version));
}
