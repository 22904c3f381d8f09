import type { FieldError } from '@tocsin/contracts/errors';
import {
  assertionsSchema,
  createMonitorSchema,
  monitorConflicts,
  updateMonitorSchema,
} from '@tocsin/contracts/monitor';
import type { MonitorInput, MonitorUpdate } from '@tocsin/contracts/monitor';
import { z } from 'zod';
import { fieldsOf, invalidFields, toFieldErrors } from '../http/field-errors.ts';

type Body = Readonly<Record<string, unknown>>;

const MONITOR_FIELDS = fieldsOf(createMonitorSchema);
const ASSERTION_FIELDS = fieldsOf(assertionsSchema);

/** The fields that rules between fields look at, for a body whose other fields may be wrong. */
const conflictSchema = z.object({
  method: createMonitorSchema.shape.method,
  assertions: createMonitorSchema.shape.assertions,
});

/**
 * The body of "create a monitor" with its defaults.
 * @param regions the only codes that may be named; null: any
 * @throws AppError validation_failed, with every fault at once
 */
export function parseCreate(body: Body, regions: readonly string[] | null): MonitorInput {
  const { input, errors } = judgeMonitor(createMonitorSchema, body, regions);
  if (input === null) throw invalidFields(errors);
  return input;
}

/** A complete monitor by its schema and the rules between fields: all that is wrong with it, or what it is with its defaults. */
export function judgeMonitor<Schema extends z.ZodObject>(
  schema: Schema,
  body: unknown,
  regions: readonly string[] | null,
): { input: z.output<Schema> | null; errors: FieldError[] } {
  const result = schema.safeParse(body);
  const conflicts = conflictSchema.safeParse(body);
  const errors = [
    ...(result.success ? [] : fieldErrors(result.error, fieldsOf(schema))),
    ...(conflicts.success ? monitorConflicts(conflicts.data) : []),
    ...unknownRegions(body, regions),
  ];
  return { input: result.success && errors.length === 0 ? result.data : null, errors };
}

/**
 * The body of "update a monitor": any subset of the fields. Rules between fields are for the merged record.
 * @throws AppError validation_failed, with every fault at once
 */
export function parseUpdate(body: Body, regions: readonly string[] | null): MonitorUpdate {
  const result = updateMonitorSchema.safeParse(body);
  const errors = [
    ...(result.success ? [] : fieldErrors(result.error, MONITOR_FIELDS)),
    ...unknownRegions(body, regions),
  ];
  if (!result.success || errors.length > 0) throw invalidFields(errors);
  return result.data;
}

function fieldErrors(error: z.ZodError, fields: readonly string[]): FieldError[] {
  return toFieldErrors(error.issues, (path) => (path === 'assertions' ? ASSERTION_FIELDS : fields));
}

/** The codes that are well-formed but not among those of the `REGIONS` setting. */
function unknownRegions(body: unknown, allowed: readonly string[] | null): FieldError[] {
  const given = typeof body === 'object' && body !== null && 'regions' in body ? body.regions : undefined;
  if (allowed === null || !Array.isArray(given)) return [];
  return given.flatMap((code: unknown, index) =>
    typeof code !== 'string' || allowed.includes(code)
      ? []
      : [{ path: `regions.${index}`, message: `must be one of ${allowed.join(', ')}` }],
  );
}
