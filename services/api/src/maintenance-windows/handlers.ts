import {
  createMaintenanceWindowSchema,
  type MaintenanceWindow,
  type MaintenanceWindowInput,
  type MaintenanceWindowUpdate,
  previewMaintenanceWindowSchema,
  updateMaintenanceWindowSchema,
} from '@tocsin/contracts/maintenance-windows/maintenance-window';
import { maintenanceWindowRoutes } from '@tocsin/contracts/maintenance-windows/routes';
import type { Database } from '@tocsin/db/database/open';
import { createMaintenanceWindow } from '@tocsin/db/maintenance-windows/create-window';
import {
  findWindowRow,
  getMaintenanceWindow,
  getMaintenanceWindowByExternalId,
  listMaintenanceWindows,
  previewWindow,
  versionOf,
} from '@tocsin/db/maintenance-windows/read-windows';
import { SETTLED_AT_ONCE, settleMaintenance } from '@tocsin/db/maintenance-windows/settle-maintenance';
import {
  deleteMaintenanceWindow,
  endMaintenance,
  validateWindow,
  mergeSchedule,
  updateMaintenanceWindow,
} from '@tocsin/db/maintenance-windows/write-windows';
import type { z } from 'zod';
import type { ApiContext } from '../context.ts';
import { parseFields } from '../http/errors.ts';
import { createdHeaders, etagOf, versionsOf, withEtags } from '../http/headers.ts';
import { implement } from '../http/implement.ts';
import type { RawBody } from '../http/json-body.ts';
import { hintStatusChanges } from '../queue-hints.ts';

export const maintenanceWindowApi = implement(maintenanceWindowRoutes, (context) => {
  const { db } = context;
  return {
    listMaintenanceWindows: async ({ caller, query }) => ({
      maintenanceWindows: withEtags(await listMaintenanceWindows(db, caller.accountId, query), versionOf),
    }),
    getMaintenanceWindow: async ({ caller, id }) =>
      respond(await getMaintenanceWindow(db, caller.accountId, id)),
    getMaintenanceWindowByExternalId: async ({ caller, path }) =>
      respond(await getMaintenanceWindowByExternalId(db, caller.accountId, path.externalId)),
    createMaintenanceWindow: {
      parseBody: (body, { caller }) => parseCreate(db, caller.accountId, body),
      handle: async ({ caller, headers, body, location }) => {
        const key = headers['Idempotency-Key'];
        const created = await createMaintenanceWindow(context, caller, body, key);
        const { maintenanceWindow, monitorCount, coveredIds, isReplayed } = created;
        await settleAtOnce(context, coveredIds);
        return {
          body: { maintenanceWindow, monitorCount },
          headers: createdHeaders({
            location: location(maintenanceWindow.id),
            version: versionOf(maintenanceWindow),
            isReplayed,
          }),
        };
      },
    },
    previewMaintenanceWindow: {
      parseBody: (body, { caller }) => parsePreview(db, caller.accountId, body),
      handle: ({ caller, body }) =>
        previewWindow(db, caller.accountId, body, body, body.maintenanceWindowId ?? null),
    },
    updateMaintenanceWindow: {
      parseBody: (body, { caller, id }) => parseUpdate(db, caller.accountId, id, body),
      handle: async ({ caller, id, body, headers }) => {
        const versions = versionsOf(headers['If-Match']);
        return respond(await updateMaintenanceWindow(db, caller, id, body, versions));
      },
    },
    deleteMaintenanceWindow: async ({ caller, id, headers }) => {
      const versions = versionsOf(headers['If-Match']);
      await settleAtOnce(context, await deleteMaintenanceWindow(db, caller, id, versions));
    },
    endMaintenance: async ({ caller, id }) => {
      const { maintenanceWindow, coveredIds } = await endMaintenance(db, caller, id);
      await settleAtOnce(context, coveredIds);
      return respond(maintenanceWindow);
    },
  };
});

function respond(maintenanceWindow: MaintenanceWindow): {
  body: { maintenanceWindow: MaintenanceWindow };
  headers: { ETag: string };
} {
  return { body: { maintenanceWindow }, headers: { ETag: etagOf(versionOf(maintenanceWindow)) } };
}

/** Begins or ends the maintenance of a few monitors at once. Otherwise, or if this fails, a notifier does it. */
async function settleAtOnce(context: ApiContext, monitorIds: readonly string[]): Promise<void> {
  if (monitorIds.length === 0 || monitorIds.length > SETTLED_AT_ONCE) return;
  try {
    const { statusChangeIds } = await settleMaintenance(context.db, monitorIds);
    hintStatusChanges(context, statusChangeIds);
  } catch (error) {
    context.logger.warn('Could not settle maintenance at once. A notifier will do it.', { error });
  }
}

/** A write checks the rules between valid fields. With invalid fields, this checks both, to report all errors at once. @throws AppError validation_failed */
async function parseCreate(db: Database, accountId: string, body: RawBody): Promise<MaintenanceWindowInput> {
  const result = createMaintenanceWindowSchema.safeParse(body);
  if (result.success) return result.data;
  const { monitorIds, ...schedule } = validFields(createMaintenanceWindowSchema, body);
  const fields =
    body['externalIds'] === undefined ? { ...schedule, ...(monitorIds && { monitorIds }) } : schedule;
  const errors = await validateWindow(db, accountId, fields);
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

/** Parses like `parseCreate`, on top of the stored window. */
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

/** Returns the fields that are valid on their own, with defaults for omitted ones. */
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
