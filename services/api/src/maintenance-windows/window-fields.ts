import type { FieldError } from '@tocsin/contracts/errors';
import { fieldsOf, toFieldErrors } from '@tocsin/contracts/field-errors';
import {
  createMaintenanceWindowSchema,
  updateMaintenanceWindowSchema,
} from '@tocsin/contracts/maintenance-windows/maintenance-window';
import type {
  MaintenanceWindowInput,
  MaintenanceWindowUpdate,
} from '@tocsin/contracts/maintenance-windows/maintenance-window';
import type { Database } from '@tocsin/db/database/open';
import { findWindowRow } from '@tocsin/db/maintenance-windows/read-windows';
import { findWindowFaults, mergeSchedule } from '@tocsin/db/maintenance-windows/write-windows';
import type { z } from 'zod';
import { invalidFields } from '../http/field-errors.ts';

type Body = Readonly<Record<string, unknown>>;

const FIELDS = fieldsOf(createMaintenanceWindowSchema);

/** The body of "create", with every fault at once. @throws AppError validation_failed */
export async function parseCreate(
  db: Database,
  accountId: string,
  body: Body,
): Promise<MaintenanceWindowInput> {
  const result = createMaintenanceWindowSchema.safeParse(body);
  const readable = result.success ? result.data : withoutNull(readableFields(body));
  const errors = [
    ...(result.success ? [] : formErrors(result.error)),
    ...(await findWindowFaults(db, accountId, readable)),
  ];
  if (!result.success || errors.length > 0) throw invalidFields(errors);
  return result.data;
}

/**
 * The body of "update". Where its form is right, the merged window is judged when it is written; otherwise here, so that
 * every fault is named at once.
 * @throws AppError not_found, validation_failed
 */
export async function parseUpdate(
  db: Database,
  accountId: string,
  id: string,
  body: Body,
): Promise<MaintenanceWindowUpdate> {
  const result = updateMaintenanceWindowSchema.safeParse(body);
  if (result.success) return result.data;
  const before = await findWindowRow(db, accountId, id);
  const { monitorIds, ...schedule } = readableFields(body);
  const merged = { ...mergeSchedule(before, schedule), ...(monitorIds && { monitorIds }) };
  throw invalidFields([
    ...formErrors(result.error),
    ...(await findWindowFaults(db, accountId, merged, true)),
  ]);
}

/** The fields of a faulty body that are right by themselves. */
function readableFields(body: Body): MaintenanceWindowUpdate {
  const shape = updateMaintenanceWindowSchema.shape;
  const right = Object.entries(shape).flatMap(([name, schema]) => {
    const result = schema.safeParse(body[name]);
    return result.success && result.data !== undefined ? [[name, result.data] as const] : [];
  });
  return Object.fromEntries(right) as MaintenanceWindowUpdate;
}

/** A null rule is none: there is nothing to judge. */
function withoutNull(fields: MaintenanceWindowUpdate): Parameters<typeof findWindowFaults>[2] {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== null));
}

function formErrors(error: z.ZodError): FieldError[] {
  return toFieldErrors(error.issues, () => FIELDS);
}
