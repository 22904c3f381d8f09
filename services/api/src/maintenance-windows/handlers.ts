import {
  createMaintenanceWindowSchema,
  type MaintenanceWindowInput,
  type MaintenanceWindowUpdate,
  previewMaintenanceWindowSchema,
  updateMaintenanceWindowSchema,
} from '@tocsin/contracts/maintenance-windows/maintenance-window';
import { maintenanceWindowRoutes } from '@tocsin/contracts/maintenance-windows/routes';
import type { Database } from '@tocsin/db/database/open';
import {
  findWindowRow,
  getMaintenanceWindow,
  listMaintenanceWindows,
  previewWindow,
} from '@tocsin/db/maintenance-windows/read-windows';
import { SETTLED_AT_ONCE, settleMaintenance } from '@tocsin/db/maintenance-windows/settle-maintenance';
import {
  createMaintenanceWindow,
  deleteMaintenanceWindow,
  endMaintenance,
  validateWindow,
  mergeSchedule,
  updateMaintenanceWindow,
} from '@tocsin/db/maintenance-windows/write-windows';
import type { z } from 'zod';
import type { ApiContext } from '../context.ts';
import { parseFields } from '../http/errors.ts';
import { implement } from '../http/implement.ts';
import type { RawBody } from '../http/json-body.ts';
import { hintStatusChanges } from '../queue-hints.ts';

export const maintenanceWindowApi = implement(maintenanceWindowRoutes, (context) => {
  const { db } = context;
  return {
    listMaintenanceWindows: async ({ caller, query }) => ({
      maintenanceWindows: await listMaintenanceWindows(db, caller.accountId, query),
    }),
    createMaintenanceWindow: {
      parseBody: (body, { caller }) => parseCreate(db, caller.accountId, body),
      handle: async ({ caller, body, location }) => {
        const maintenanceWindow = await createMaintenanceWindow(db, caller, body);
        return { body: { maintenanceWindow }, headers: { Location: location(maintenanceWindow.id) } };
      },
    },
    previewMaintenanceWindow: {
      parseBody: (body, { caller }) => parsePreview(db, caller.accountId, body),
      handle: ({ caller, body: { monitorIds, maintenanceWindowId = null, ...schedule } }) =>
        previewWindow(db, caller.accountId, schedule, monitorIds, maintenanceWindowId),
    },
    getMaintenanceWindow: async ({ caller, id }) => ({
      maintenanceWindow: await getMaintenanceWindow(db, caller.accountId, id),
    }),
    updateMaintenanceWindow: {
      parseBody: (body, { caller, id }) => parseUpdate(db, caller.accountId, id, body),
      handle: async ({ caller, id, body }) => ({
        maintenanceWindow: await updateMaintenanceWindow(db, caller, id, body),
      }),
    },
    deleteMaintenanceWindow: async ({ caller, id }) => {
      await settleAtOnce(context, await deleteMaintenanceWindow(db, caller, id));
    },
    endMaintenance: async ({ caller, id }) => {
      const maintenanceWindow = await endMaintenance(db, caller, id);
      await settleAtOnce(context, maintenanceWindow.monitorIds);
      return { maintenanceWindow };
    },
  };
});

/** Ends the maintenance of a few monitors at once. Otherwise, or if this fails, a notifier does it. */
async function settleAtOnce(context: ApiContext, monitorIds: readonly string[]): Promise<void> {
  if (monitorIds.length === 0 || monitorIds.length > SETTLED_AT_ONCE) return;
  try {
    const { statusChangeIds } = await settleMaintenance(context.db, monitorIds);
    hintStatusChanges(context, statusChangeIds);
  } catch (error) {
    context.logger.warn('Could not end maintenance at once; a notifier will', { error });
  }
}

/** What a new window covers unless its fields say otherwise. */
const EMPTY_SCOPE = { monitorIds: [], selector: null, allMonitors: false };

/** Validates the rules between the fields of a new window, as far as the fields are valid. @throws AppError validation_failed */
async function parseCreate(db: Database, accountId: string, body: RawBody): Promise<MaintenanceWindowInput> {
  const absent = Object.entries(EMPTY_SCOPE).filter(([field]) => body[field] === undefined);
  const fields = { ...Object.fromEntries(absent), ...validFields(body) };
  const errors = await validateWindow(db, accountId, fields);
  return parseFields(createMaintenanceWindowSchema, body, errors);
}

/** The same for a preview, which ignores unknown monitors. */
async function parsePreview(
  db: Database,
  accountId: string,
  body: RawBody,
): Promise<z.output<typeof previewMaintenanceWindowSchema>> {
  const { monitorIds: _, ...schedule } = validFields(body);
  const isStored = body['maintenanceWindowId'] !== undefined;
  const errors = await validateWindow(db, accountId, schedule, isStored);
  return parseFields(previewMaintenanceWindowSchema, body, errors);
}

/**
 * An update whose fields are valid is validated together with the stored window when it is written, otherwise here, to report all errors at
 * once.
 * @throws AppError not_found, validation_failed
 */
async function parseUpdate(
  db: Database,
  accountId: string,
  id: string,
  body: RawBody,
): Promise<MaintenanceWindowUpdate> {
  const result = updateMaintenanceWindowSchema.safeParse(body);
  if (result.success) return result.data;
  const before = await findWindowRow(db, accountId, id);
  const { monitorIds, ...schedule } = validFields(body);
  const merged = { ...mergeSchedule(before, schedule), ...(monitorIds && { monitorIds }) };
  return parseFields(updateMaintenanceWindowSchema, body, await validateWindow(db, accountId, merged, true));
}

/** The fields of a body that are valid on their own. */
function validFields(body: RawBody): Parameters<typeof validateWindow>[2] {
  const valid = Object.entries(updateMaintenanceWindowSchema.shape).flatMap(([name, schema]) => {
    const { data } = schema.safeParse(body[name]);
    return data === undefined ? [] : [[name, data] as const];
  });
  return Object.fromEntries(valid);
}
