import { findWindowRow, maintenanceWindowNotFound } from '@tocsin/db/maintenance-windows/read-windows';
import { Router } from 'express';
import type { ApiContext } from '../context.ts';
import { parseJsonBody } from '../http/json-body.ts';
import { requireNoFields } from '../http/parse-fields.ts';
import { requirePathId } from '../http/path-id.ts';
import { resource } from '../http/resource.ts';
import { createWindowHandler } from './create-window.ts';
import { deleteWindowHandler } from './delete-window.ts';
import { endWindowHandler } from './end-window.ts';
import { getWindowHandler } from './get-window.ts';
import { listWindowsHandler } from './list-windows.ts';
import { updateWindowHandler } from './update-window.ts';

/** Maintenance windows (design §3 "Dashboard API"). */
export function maintenanceWindowsRouter(context: ApiContext): Router {
  const router = Router({ caseSensitive: true });
  const requireNothing = requireNoFields((accountId, id) => findWindowRow(context.db, accountId, id));
  const requireId = requirePathId(maintenanceWindowNotFound);
  resource(router, '/', {
    get: [listWindowsHandler(context)],
    post: [parseJsonBody, createWindowHandler(context)],
  });
  resource(router, '/:id', {
    get: [requireId, getWindowHandler(context)],
    patch: [parseJsonBody, requireId, updateWindowHandler(context)],
    delete: [requireId, deleteWindowHandler(context)],
  });
  resource(router, '/:id/end', {
    post: [parseJsonBody, requireId, requireNothing, endWindowHandler(context)],
  });
  return router;
}
