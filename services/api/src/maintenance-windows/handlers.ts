import {
  createMaintenanceWindowSchema,
  type MaintenanceWindowInput,
  type MaintenanceWindowUpdate,
  previewMaintenanceWindowSchema,
  updateMaintenanceWindowSchema,
} from '@tocsin/contracts/maintenance-windows/maintenance-window';
import type { maintenanceWindowRoutes } from '@tocsin/contracts/maintenance-windows/routes';
import { toFieldErrors } from '@tocsin/contracts/field-errors';
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
import { invalidFields } from '../http/errors.ts';
import type { Handlers } from '../http/implement.ts';
import type { RawBody } from '../http/json-body.ts';
import { hintStatusChanges } from '../queue-hints.ts';

export function maintenanceWindowHandlers(context: ApiContext): Handlers<typeof maintenanceWindowRoutes> {
  const { db } = context;
  return {
    listMaintenanceWindows: async ({ caller, query }) => ({
      maintenanceWindows: await listMaintenanceWindows(db, caller.accountId, query),
    }),
    createMaintenanceWindow: {
      parseBody: (body, { caller }) => parseCreate(db, caller.accountId, body),
      handle: async ({ caller, body, location }) => {
        const maintenanceWindow = await createMaintenanceWindow(db, caller.accountId, body);
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
        maintenanceWindow: await updateMaintenanceWindow(db, caller.accountId, id, body),
      }),
    },
    deleteMaintenanceWindow: async ({ caller, id }) => {
      await settleAtOnce(context, await deleteMaintenanceWindow(db, caller.accountId, id));
    },
    endMaintenance: async ({ caller, id }) => {
      const maintenanceWindow = await endMaintenance(db, caller.accountId, id);
      await settleAtOnce(context, maintenanceWindow.monitorIds);
      return { maintenanceWindow };
    },
  };
}

/**
 * Takes the monitors of an ended window out of maintenance if they are few. The notifier's clock does it otherwise, and if this fails.
 */
async function settleAtOnce(context: ApiContext, monitorIds: readonly string[]): Promise<void> {
  if (monitorIds.length === 0 || monitorIds.length > SETTLED_AT_ONCE) return;
  try {
    const { statusChangeIds } = await settleMaintenance(context.db, monitorIds);
    hintStatusChanges(context, statusChangeIds);
  } catch (error) {
    context.logger.warn('Could not end maintenance at once; the clock does it', { error });
  }
}

/** @throws AppError validation_failed, with all invalid fields */
async function parseCreate(db: Database, accountId: string, body: RawBody): Promise<MaintenanceWindowInput> {
  const result = createMaintenanceWindowSchema.safeParse(body);
  const readable = result.success ? result.data : withoutNull(readableFields(body));
  const errors = [
    ...(result.success ? [] : toFieldErrors(result.error.issues, createMaintenanceWindowSchema)),
    ...(await validateWindow(db, accountId, readable)),
  ];
  if (!result.success || errors.length > 0) throw invalidFields(errors);
  return result.data;
}

/** The same for a preview, which ignores unknown monitors. */
async function parsePreview(
  db: Database,
  accountId: string,
  body: RawBody,
): Promise<z.output<typeof previewMaintenanceWindowSchema>> {
  const result = previewMaintenanceWindowSchema.safeParse(body);
  const { monitorIds: _, ...schedule } = result.success ? result.data : withoutNull(readableFields(body));
  const isStored = body['maintenanceWindowId'] !== undefined;
  const errors = [
    ...(result.success ? [] : toFieldErrors(result.error.issues, previewMaintenanceWindowSchema)),
    ...(await validateWindow(db, accountId, schedule, isStored)),
  ];
  if (!result.success || errors.length > 0) throw invalidFields(errors);
  return result.data;
}

/**
 * An update whose fields are well-formed is validated with the stored window when it is written. Otherwise the merged window is
 * validated here, so that all invalid fields are reported at once.
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
  const { monitorIds, ...schedule } = readableFields(body);
  const merged = { ...mergeSchedule(before, schedule), ...(monitorIds && { monitorIds }) };
  throw invalidFields([
    ...toFieldErrors(result.error.issues, createMaintenanceWindowSchema),
    ...(await validateWindow(db, accountId, merged, true)),
  ]);
}

/** The fields of an invalid body that are valid on their own. */
function readableFields(body: RawBody): MaintenanceWindowUpdate {
  const shape = updateMaintenanceWindowSchema.shape;
  const right = Object.entries(shape).flatMap(([name, schema]) => {
    const result = schema.safeParse(body[name]);
    return result.success && result.data !== undefined ? [[name, result.data] as const] : [];
  });
  return Object.fromEntries(right) as MaintenanceWindowUpdate;
}

/** Without a null rule: there is nothing to validate. */
function withoutNull(fields: MaintenanceWindowUpdate): Parameters<typeof validateWindow>[2] {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== null));
}
