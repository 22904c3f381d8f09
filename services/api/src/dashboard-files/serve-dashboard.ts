import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import type { ServerResponse } from 'node:http';
import { join } from 'node:path';
import express, { Router } from 'express';
import type { RequestHandler } from 'express';
import { contentSecurityPolicy, referrerPolicy } from 'helmet';
import { stateOf } from '../http/request-state.ts';
import { notFound } from '../http/router.ts';
import { compress } from '../http/headers.ts';

/** Pages load only from this server, and no other site may embed them. */
const sameOriginPolicy = contentSecurityPolicy({
  useDefaults: false,
  directives: {
    defaultSrc: ["'self'"],
    scriptSrc: ["'self'"],
    // The component library writes style elements.
    styleSrc: ["'self'", "'unsafe-inline'"],
    imgSrc: ["'self'", 'data:'],
    connectSrc: ["'self'"],
    objectSrc: ["'none'"],
    baseUri: ["'none'"],
    frameAncestors: ["'none'"],
    formAction: ["'self'"],
  },
});

/** Replaces the headers of API responses. Dashboard links contain tokens, so no other site may get a referrer. */
export const pageSecurity: readonly RequestHandler[] = [
  sameOriginPolicy,
  referrerPolicy({ policy: 'same-origin' }),
];

const NO_PAGES = /^\/(?:api|healthz|readyz|metrics)(?:\/|$)/i;
const STATIC = { index: false, redirect: false, acceptRanges: false } as const;

const revalidate = (res: ServerResponse): unknown => res.setHeader('Cache-Control', 'no-cache');

/** Serves the files of the built dashboard, and its page at all other paths outside the API. */
export function serveDashboard(folder: string): Router {
  const router = Router({ caseSensitive: true });
  router.use(pagesOnly, ...pageSecurity, compress);
  router.use(
    '/assets',
    noteRoute('/assets'),
    // The names of these files change with their contents.
    express.static(join(folder, 'assets'), { ...STATIC, immutable: true, maxAge: '1y' }),
    preventCaching,
    notFound,
  );
  const revalidated = express.static(folder, { ...STATIC, maxAge: 0, setHeaders: revalidate });
  router.use(noteRoute('/'), revalidated, pageHandler(join(folder, 'index.html')));
  return router;
}

const pagesOnly: RequestHandler = (req, _res, next) => {
  const reads = req.method === 'GET' || req.method === 'HEAD';
  next(reads && !NO_PAGES.test(req.path) ? undefined : 'router');
};

/** Serves the page at every path. A request for another type is not found. */
function pageHandler(file: string): RequestHandler {
  return async function sendPage(req, res, next) {
    const wantsPage = req.accepts(['application/problem+json', 'text/html']) === 'text/html';
    res.vary('Accept');
    if (req.path !== '/' && !wantsPage) {
      next();
      return;
    }
    const page = await readFile(file);
    // Not size and time, because reproducible builds give all files the same time.
    const version = createHash('sha256').update(page).digest('base64url');
    res.set({ 'Cache-Control': 'no-cache', ETag: `W/"${version}"` });
    res.type('html').send(page);
  };
}

/** Sets one route for several files, for logs and metrics. */
export function noteRoute(route: string): RequestHandler {
  return function note(_req, res, next) {
    stateOf(res).route = route;
    next();
  };
}

/** A missing file may exist when the next version is deployed. */
const preventCaching: RequestHandler = (_req, res, next) => {
  res.set('Cache-Control', 'no-store');
  next();
};
