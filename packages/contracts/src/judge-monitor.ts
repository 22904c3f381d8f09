import { z } from 'zod';
import type { FieldError } from './errors.ts';
import { fieldsOf, toFieldErrors } from './field-errors.ts';
import { assertionsSchema, createMonitorSchema, monitorConflicts } from './monitor.ts';

const ASSERTION_FIELDS = fieldsOf(assertionsSchema);

/** The fields that rules between fields look at, for a monitor whose other fields may be wrong. */
const conflictSchema = z.object({
  method: createMonitorSchema.shape.method,
  assertions: createMonitorSchema.shape.assertions,
});

/** A complete monitor by its schema and the rules between fields: all that is wrong with it, or what it is with its defaults. */
export function judgeMonitor<Schema extends z.ZodObject>(
  schema: Schema,
  fields: unknown,
): { input: z.output<Schema> | null; errors: FieldError[] } {
  const result = schema.safeParse(fields);
  const conflicts = conflictSchema.safeParse(fields);
  const errors = [
    ...(result.success ? [] : monitorFieldErrors(result.error, fieldsOf(schema))),
    ...(conflicts.success ? monitorConflicts(conflicts.data) : []),
  ];
  return { input: result.success && errors.length === 0 ? result.data : null, errors };
}

/** What is wrong with the fields of a monitor. @param known its fields, for messages about unknown ones */
export function monitorFieldErrors(error: z.ZodError, known: readonly string[]): FieldError[] {
  return toFieldErrors(error.issues, (path) => (path === 'assertions' ? ASSERTION_FIELDS : known));
}
