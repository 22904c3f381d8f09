import { Router } from 'express';
import type { ApiContext } from '../context.ts';
import { resource } from '../http/resource.ts';
import { listRegionsHandler } from './list-regions.ts';

/** Regions and who serves them (design §3 "Dashboard API"). */
export function regionsRouter(context: ApiContext): Router {
  const router = Router({ caseSensitive: true });
  resource(router, '/', {
    get: [listRegionsHandler(context)],
  });
  return router;
}
