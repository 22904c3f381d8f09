import compression from 'compression';
import type { RequestHandler } from 'express';
import { callerOf } from './request-state.ts';

/** Compresses responses of a kilobyte and more if the client accepts it, except those with `no-transform`. */
export const compress: RequestHandler = compression();

/** For long, repetitive text: the lowest level makes it hardly longer, with half of the CPU time. */
export const compressQuickly: RequestHandler = compression({ level: 1 });

/** For responses with a secret. Compressed together with text that others choose, its length would reveal similarities (BREACH). */
export const keepUncompressed: RequestHandler = (_req, res, next) => {
  res.set('Cache-Control', 'no-store, no-transform');
  next();
};

/**
 * For the response that shows header values next to error details, which the target of the monitor chooses. A caller who may not write gets
 * placeholders, and lists of monitors have only text of people who may see the values: both are compressed.
 */
export const keepUncompressedForWriters: RequestHandler = (req, res, next) => {
  if (callerOf(res).canWrite) keepUncompressed(req, res, next);
  else next();
};

/** Responses may contain secrets of an account: no cache may store them. */
export const keepPrivate: RequestHandler = (_req, res, next) => {
  res.set('Cache-Control', 'no-store');
  next();
};

/** A version as an ETag. */
export function etagOf(version: string): string {
  return `"${version}"`;
}

/** A version of a response as an ETag: the same for every encoding. */
export function weakEtagOf(version: string): string {
  return `W/${etagOf(version)}`;
}

/** Whether an `If-None-Match` header has this version: the client need not get it again. */
export function hasVersion(ifNoneMatch: string, version: string): boolean {
  return versionsOf(ifNoneMatch)?.has(version) ?? true;
}

/**
 * The versions in an `If-Match` or `If-None-Match` header; null if there is none, or `*`. Weak ETags match too, against RFC 9110, section 13.1.1: proxies that
 * compress make ours weak, and ours identify a version, not bytes.
 */
export function versionsOf(ifMatch: string | undefined): ReadonlySet<string> | null {
  if (ifMatch === undefined || ifMatch.trim() === '*') return null;
  return new Set([...ifMatch.matchAll(/(?:^|,)[ \t]*(?:W\/)?"([^"]*)"/g)].map(([, version = '']) => version));
}
