import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import express, { Router } from 'express';
import type { RequestHandler } from 'express';
import { contentSecurityPolicy, referrerPolicy } from 'helmet';
import { stateOf } from '../http/request-state.ts';
import { notFound } from '../http/router.ts';
import { compress } from '../http/response-headers.ts';

/** What the dashboard's page may load and who may show it: itself, from here, nothing else. */
const loadsOnlyFromHere = contentSecurityPolicy({
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

/** In place of what API answers have. Links into the dashboard carry tokens: no other site is told where somebody came from. */
const pageSecurity: readonly RequestHandler[] = [
  loadsOnlyFromHere,
  referrerPolicy({ policy: 'same-origin' }),
];

/** Never a page: what is missing there is said as the API says it. */
const NO_PAGES = /^\/(?:api|healthz|readyz|metrics)(?:\/|$)/i;
const STATIC = { index: false, redirect: false, acceptRanges: false } as const;

/** The dashboard as it was built into this folder: its page at every path that is not the API's, and its files. */
export function serveDashboard(folder: string): Router {
  const router = Router({ caseSensitive: true });
  router.use(pagesOnly, ...pageSecurity, compress);
  router.use(
    '/assets',
    noteRoute('/assets'),
    // Their names change with what is in them.
    express.static(join(folder, 'assets'), { ...STATIC, immutable: true, maxAge: '1y' }),
    keepNothing,
    notFound,
  );
  const askAgain = express.static(folder, { ...STATIC, maxAge: 0, setHeaders: (res) => markNoCache(res) });
  router.use(noteRoute('/'), askAgain, pageHandler(join(folder, 'index.html')));
  return router;
}

/** Leaves the API's paths, and what does more than read, to who comes after. */
const pagesOnly: RequestHandler = (req, _res, next) => {
  const reads = req.method === 'GET' || req.method === 'HEAD';
  next(reads && !NO_PAGES.test(req.path) ? undefined : 'router');
};

/** The page that shows whatever its path names. Who asks for anything else at a path that is no file gets a problem. */
function pageHandler(file: string): RequestHandler {
  return async function answerPage(req, res, next) {
    const wantsPage = req.accepts(['application/problem+json', 'text/html']) === 'text/html';
    res.vary('Accept');
    if (req.path !== '/' && !wantsPage) {
      next();
      return;
    }
    const page = await readFile(file);
    // Not of size and time, which may be the same for two versions: builds that are reproducible have one time for all.
    const version = createHash('sha256').update(page).digest('base64url');
    res.set({ 'Cache-Control': 'no-cache', ETag: `W/"${version}"` });
    res.type('html').send(page);
  };
}

/** All files under one name, for the log and the metrics. */
function noteRoute(route: string): RequestHandler {
  return function note(_req, res, next) {
    stateOf(res).route = route;
    next();
  };
}

/** A file that is missing may be there in a moment, when the next version is. */
const keepNothing: RequestHandler = (_req, res, next) => {
  res.set('Cache-Control', 'no-store');
  next();
};

function markNoCache(res: { setHeader(name: string, value: string): unknown }): void {
  res.setHeader('Cache-Control', 'no-cache');
}
