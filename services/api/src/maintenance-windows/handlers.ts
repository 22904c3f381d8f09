import type { FieldError } from '@tocsin/contracts/errors';
import {
  createMaintenanceWindowSchema,
  type MaintenanceWindow,
  previewMaintenanceWindowSchema,
  updateMaintenanceWindowSchema,
} from '@tocsin/contracts/maintenance-windows/maintenance-window';
import { maintenanceWindowRoutes } from '@tocsin/contracts/maintenance-windows/routes';
import { createMaintenanceWindow } from '@tocsin/db/maintenance-windows/create-window';
import {
  findWindow,
  getMaintenanceWindow,
  listMaintenanceWindows,
  previewWindow,
  versionOf,
} from '@tocsin/db/maintenance-windows/read-windows';
import { MAX_SETTLE_BATCH_SIZE, settleMaintenance } from '@tocsin/db/maintenance-windows/settle-maintenance';
import {
  deleteMaintenanceWindow,
  endMaintenance,
  scheduleOf,
  updateMaintenanceWindow,
  validateWindow,
  type WindowFields,
} from '@tocsin/db/maintenance-windows/write-windows';
import type { z } from 'zod';
import type { ApiContext } from '../context.ts';
import { parseFields } from '../http/errors.ts';
import { created, withEtag, withEtags } from '../http/headers.ts';
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
      respond(await getMaintenanceWindow(db, caller.accountId, path.externalId, 'externalId')),
    createMaintenanceWindow: {
      parseBody: (body, { caller }) =>
        parseWindow(createMaintenanceWindowSchema, body, (fields) =>
          validateWindow(db, caller.accountId, fields),
        ),
      handle: async ({ caller, headers, body, location }) => {
        const key = headers['Idempotency-Key'];
        const { coveredIds, isReplayed, ...result } = await createMaintenanceWindow(
          context,
          caller,
          body,
          key,
        );
        await settleAtOnce(context, coveredIds);
        const { maintenanceWindow } = result;
        return created(result, location(maintenanceWindow.id), versionOf(maintenanceWindow), isReplayed);
      },
    },
    previewMaintenanceWindow: {
      parseBody: async (body, { caller }) => {
        // Unknown monitors are ignored.
        const { monitorIds: _, ...fields } = validFields(updateMaintenanceWindowSchema, body);
        const isStored = body['maintenanceWindowId'] !== undefined;
        const errors = await validateWindow(db, caller.accountId, fields, isStored);
        return parseFields(previewMaintenanceWindowSchema, body, errors);
      },
      handle: ({ caller, body }) =>
        previewWindow(db, caller.accountId, body, body, body.maintenanceWindowId ?? null),
    },
    updateMaintenanceWindow: {
      parseBody: (body, { caller: { accountId }, id }) =>
        parseWindow(updateMaintenanceWindowSchema, body, async (fields) => {
          const schedule = scheduleOf(await findWindow(db, accountId, id));
          return validateWindow(db, accountId, { ...schedule, ...fields }, true);
        }),
      handle: async ({ caller, id, body, versions }) =>
        respond(await updateMaintenanceWindow(context, caller, id, body, versions)),
    },
    deleteMaintenanceWindow: async ({ caller, id, versions }) =>
      settleAtOnce(context, await deleteMaintenanceWindow(db, caller, id, versions)),
    endMaintenance: async ({ caller, id }) => {
      const { maintenanceWindow, coveredIds } = await endMaintenance(db, caller, id);
      await settleAtOnce(context, coveredIds);
      return respond(maintenanceWindow);
    },
  };
});

const respond = (maintenanceWindow: MaintenanceWindow) =>
  withEtag({ version: versionOf(maintenanceWindow), maintenanceWindow });

/** Begins or ends the maintenance of a few monitors at once. Otherwise, or if this fails, a notifier does it. */
async function settleAtOnce(context: ApiContext, monitorIds: readonly string[]): Promise<void> {
  if (monitorIds.length === 0 || monitorIds.length > MAX_SETTLE_BATCH_SIZE) return;
  try {
    const { statusChangeIds } = await settleMaintenance(context.db, monitorIds);
    hintStatusChanges(context, statusChangeIds);
  } catch (error) {
    context.logger.warn('Could not settle maintenance at once. A notifier will do it.', { error });
  }
}

/** A write checks the rules between valid fields. With invalid fields, this checks both, to report all errors at once. @throws AppError validation_failed */
async function parseWindow<Schema extends z.ZodObject>(
  schema: Schema,
  body: RawBody,
  validate: (fields: WindowFields) => Promise<FieldError[]>,
): Promise<z.output<Schema>> {
  const result = schema.safeParse(body);
  if (result.success) return result.data;
  return parseFields(schema, body, await validate(validFields(schema, body)));
}

/** Returns the fields that are valid on their own, with defaults for omitted ones. */
function validFields({ shape }: z.ZodObject, body: RawBody): WindowFields {
  const valid = Object.entries<z.ZodType>(shape).flatMap(([name, schema]) => {
    const { data } = schema.safeParse(body[name]);
    return data === undefined ? [] : [[name, data] as const];
  });
  return Object.fromEntries(valid);
}
