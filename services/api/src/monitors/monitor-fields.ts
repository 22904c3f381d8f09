import type { FieldError } from '@tocsin/contracts/errors';
import { fieldsOf } from '@tocsin/contracts/field-errors';
import {
  createMonitorSchema,
  judgeMonitor,
  monitorFieldErrors,
  updateMonitorSchema,
} from '@tocsin/contracts/monitors/monitor';
import type { MonitorInput, MonitorUpdate } from '@tocsin/contracts/monitors/monitor';
import { invalidFields } from '../http/field-errors.ts';

type Body = Readonly<Record<string, unknown>>;

const MONITOR_FIELDS = fieldsOf(createMonitorSchema);

/**
 * The body of "create a monitor" with its defaults.
 * @param regions the only codes that may be named; null: any
 * @throws AppError validation_failed, with every fault at once
 */
export function parseCreate(body: Body, regions: readonly string[] | null): MonitorInput {
  const judged = judgeMonitor(createMonitorSchema, body);
  const errors = [...judged.errors, ...unknownRegions(body, regions)];
  if (judged.input === null || errors.length > 0) throw invalidFields(errors);
  return judged.input;
}

/**
 * The body of "update a monitor": any subset of the fields. Rules between fields are for the merged record.
 * @throws AppError validation_failed, with every fault at once
 */
export function parseUpdate(body: Body, regions: readonly string[] | null): MonitorUpdate {
  const result = updateMonitorSchema.safeParse(body);
  const errors = [
    ...(result.success ? [] : monitorFieldErrors(result.error, MONITOR_FIELDS)),
    ...unknownRegions(body, regions),
  ];
  if (!result.success || errors.length > 0) throw invalidFields(errors);
  return result.data;
}

/** The codes that are well-formed but not among those of the `REGIONS` setting. */
export function unknownRegions(body: unknown, allowed: readonly string[] | null): FieldError[] {
  const given = typeof body === 'object' && body !== null && 'regions' in body ? body.regions : undefined;
  if (allowed === null || !Array.isArray(given)) return [];
  return given.flatMap((code: unknown, index) =>
    typeof code !== 'string' || allowed.includes(code)
      ? []
      : [{ path: `regions.${index}`, message: `must be one of ${allowed.join(', ')}` }],
  );
}
