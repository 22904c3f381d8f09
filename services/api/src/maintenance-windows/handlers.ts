import {
  createMaintenanceWindowSchema,
  type MaintenanceWindowInput,
  type MaintenanceWindowUpdate,
  previewMaintenanceWindowSchema,
  updateMaintenanceWindowSchema,
} from '@tocsin/contracts/maintenance-windows/maintenance-window';
import { maintenanceWindowRoutes } from '@tocsin/contracts/maintenance-windows/routes';
import type { Database } from '@tocsin/db/database/open';
import { createWindowByKey } from '@tocsin/db/maintenance-windows/create-by-key';
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
    getMaintenanceWindow: async ({ caller, id }) => ({
      maintenanceWindow: await getMaintenanceWindow(db, caller.accountId, id),
    }),
    createMaintenanceWindow: async ({ caller, headers, body, location }) => {
      const key = headers['Idempotency-Key'];
      const created = await createWindowByKey(context, caller, body, key);
      const { maintenanceWindow, monitorCount, coveredIds, isReplayed } = created;
      await settleAtOnce(context, coveredIds);
      return {
        body: { maintenanceWindow, monitorCount },
        headers: {
          Location: location(maintenanceWindow.id),
          ...(isReplayed && { 'Idempotency-Replayed': 'true' }),
        },
      };
    },
    createMaintenanceWindowInDashboard: {
      parseBody: (body, { caller }) => parseCreate(db, caller.accountId, body),
      handle: async ({ caller, body, location }) => {
        const maintenanceWindow = await createMaintenanceWindow(db, caller, body);
        return { body: { maintenanceWindow }, headers: { Location: location(maintenanceWindow.id) } };
      },
    },
    previewMaintenanceWindow: {
      parseBody: (body, { caller }) => parsePreview(db, caller.accountId, body),
      handle: ({ caller, body }) =>
        previewWindow(db, caller.accountId, body, body, body.maintenanceWindowId ?? null),
    },
    updateMaintenanceWindow: {
      parseBody: (body, { caller, id }) => parseUpdate(db, caller.accountId, id, body),
      handle: async ({ caller, id, body }) => ({
        maintenanceWindow: await updateMaintenanceWindow(db, caller, id, body),
      }),
    },
    deleteMaintenanceWindow: async ({ caller, id }) =>
      settleAtOnce(context, await deleteMaintenanceWindow(db, caller, id)),
    endMaintenance: async ({ caller, id }) => {
      const { maintenanceWindow, coveredIds } = await endMaintenance(db, caller, id);
      await settleAtOnce(context, coveredIds);
      return { maintenanceWindow };
    },
  };
});

/** Begins or ends the maintenance of a few monitors at once. Otherwise, or if this fails, a notifier does it. */
async function settleAtOnce(context: ApiContext, monitorIds: readonly string[]): Promise<void> {
  if (monitorIds.length === 0 || monitorIds.length > SETTLED_AT_ONCE) return;
  try {
    const { statusChangeIds } = await settleMaintenance(context.db, monitorIds);
    hintStatusChanges(context, statusChangeIds);
  } catch (error) {
    context.logger.warn('Could not settle maintenance at once; a notifier will', { error });
  }
}

/** Parses a new window. Also validates rules between fields, as far as the fields are valid. @throws AppError validation_failed */
async function parseCreate(db: Database, accountId: string, body: RawBody): Promise<MaintenanceWindowInput> {
  const errors = await validateWindow(db, accountId, validFields(createMaintenanceWindowSchema, body));
  return parseFields(createMaintenanceWindowSchema, body, errors);
}

/** Parses a preview, which ignores unknown monitors. */
async function parsePreview(
  db: Database,
  accountId: string,
  body: RawBody,
): Promise<z.output<typeof previewMaintenanceWindowSchema>> {
  const { monitorIds: _, ...schedule } = validFields(updateMaintenanceWindowSchema, body);
  const isStored = body['maintenanceWindowId'] !== undefined;
  const errors = await validateWindow(db, accountId, schedule, isStored);
  return parseFields(previewMaintenanceWindowSchema, body, errors);
}

/** A write checks valid fields together with the stored window. With invalid fields, this checks both, to report all errors at once. */
async function parseUpdate(
  db: Database,
  accountId: string,
  id: string,
  body: RawBody,
): Promise<MaintenanceWindowUpdate> {
  const result = updateMaintenanceWindowSchema.safeParse(body);
  if (result.success) return result.data;
  const before = await findWindowRow(db, accountId, id);
  const { monitorIds, ...schedule } = validFields(updateMaintenanceWindowSchema, body);
  const merged = { ...mergeSchedule(before, schedule), ...(monitorIds && { monitorIds }) };
  return parseFields(updateMaintenanceWindowSchema, body, await validateWindow(db, accountId, merged, true));
}

/** The fields that are valid on their own, with defaults for omitted ones. */
function validFields(
  { shape }: typeof createMaintenanceWindowSchema | typeof updateMaintenanceWindowSchema,
  body: RawBody,
): Parameters<typeof validateWindow>[2] {
  const valid = Object.entries(shape).flatMap(([name, schema]) => {
    const { data } = schema.safeParse(body[name]);
    return data === undefined ? [] : [[name, data] as const];
  });
  return Object.fromEntries(valid);
}
