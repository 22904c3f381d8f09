import { setImmediate as turn } from 'node:timers/promises';
import type { FieldError } from '@tocsin/contracts/errors';
import { toFieldErrors } from '@tocsin/contracts/field-errors';
import { LIMITS } from '@tocsin/contracts/limits';
import {
  type MonitorSet,
  type MonitorSetEntry,
  monitorSetEntrySchema,
  monitorSetSchema,
} from '@tocsin/contracts/monitor-sets/monitor-set';
import { monitorSetRoutes } from '@tocsin/contracts/monitor-sets/routes';
import { validateMonitor } from '@tocsin/contracts/monitors/monitor';
import { applySet } from '@tocsin/db/monitor-sets/apply-set';
import { z } from 'zod';
import { etagOf, versionsOf } from '../http/headers.ts';
import { invalidFields } from '../http/errors.ts';
import { implement } from '../http/implement.ts';
import type { RawBody } from '../http/json-body.ts';
import { findUnknownRegions } from '../monitors/handlers.ts';
import { hintStatusChanges } from '../queue-hints.ts';

export const monitorSetApi = implement(monitorSetRoutes, (context) => {
  const { defaultRegion, regions } = context.settings;
  return {
    applyMonitors: {
      parseBody: (body) => parseSet(body, regions),
      handle: async ({ caller, body, headers }) => {
        const versions = versionsOf(headers['If-Match']);
        const applied = await applySet(context, caller, body, defaultRegion, versions);
        const { result, version, schedules, statusChangeIds } = applied;
        for (const schedule of schedules) {
          context.schedules.touch(schedule.monitorId, schedule.regions);
        }
        hintStatusChanges(context, statusChangeIds);
        return { body: result, headers: { ETag: etagOf(version) } };
      },
    },
  };
});

/** Monitors validated before other requests get their turn. */
const VALIDATED_AT_ONCE = 100;
/** More errors are likely repetitions. */
const MAX_ERRORS = 100;
/** More than any field of a monitor may contain. A larger field gets one error instead of one for each member. */
const MAX_MEMBERS = 1_000;

/** Everything except the monitors, which are validated one by one. */
const outerSchema = monitorSetSchema.extend({
  monitors: z
    .array(z.unknown(), { error: 'must be an array of monitors' })
    .max(LIMITS.monitorSetSize, { error: `must contain at most ${LIMITS.monitorSetSize} monitors` }),
});

/**
 * Parses a set. Fields that a monitor omits get their defaults. @throws AppError validation_failed, with at most a hundred invalid fields
 */
async function parseSet(body: RawBody, regions: readonly string[] | null): Promise<MonitorSet> {
  const outer = outerSchema.safeParse(body);
  const errors = outer.success ? [] : toFieldErrors(outer.error.issues, monitorSetSchema);
  const given: unknown = body['monitors'];
  const tooMany = errors.some(({ path }) => path === 'monitors');
  const monitors = Array.isArray(given) && !tooMany ? await validateMonitors(given, regions, errors) : [];
  if (!outer.success || errors.length > 0) throw invalidFields(errors);
  return { ...outer.data, monitors };
}

/** @param errors the errors found are added to it */
async function validateMonitors(
  given: readonly unknown[],
  regions: readonly string[] | null,
  errors: FieldError[],
): Promise<MonitorSetEntry[]> {
  const entries: MonitorSetEntry[] = [];
  const firstWith = new Map<string, number>();
  for (let index = 0; index < given.length && errors.length < MAX_ERRORS; index += 1) {
    if (index > 0 && index % VALIDATED_AT_ONCE === 0) await turn();
    const { input, errors: found } = validateEntry(given[index], regions);
    errors.push(...found.slice(0, MAX_ERRORS).map((error) => inSet(error, index, given[index])));
    const externalId = externalIdOf(given[index]);
    const first = externalId === null ? undefined : firstWith.get(externalId);
    if (first !== undefined) {
      const message = `"${externalId}" is also the externalId of monitors.${first}`;
      errors.push({ path: `monitors.${index}.externalId`, message });
    } else if (externalId !== null) firstWith.set(externalId, index);
    if (input !== null) entries.push(input);
  }
  return entries;
}

/** Null if it is invalid; other fields do not matter. */
function externalIdOf(entry: unknown): string | null {
  if (typeof entry !== 'object' || entry === null) return null;
  const { externalId } = entry as { readonly externalId?: unknown };
  return monitorSetEntrySchema.shape.externalId.safeParse(externalId).data ?? null;
}

function validateEntry(
  entry: unknown,
  regions: readonly string[] | null,
): { input: MonitorSetEntry | null; errors: readonly FieldError[] } {
  const overfull = findOverfull(entry);
  if (overfull.length > 0) return { input: null, errors: overfull };
  const { input, errors } = validateMonitor(monitorSetEntrySchema, entry);
  return { input, errors: [...errors, ...findUnknownRegions(entry, regions)] };
}

function findOverfull(entry: unknown): FieldError[] {
  if (typeof entry !== 'object' || entry === null || Array.isArray(entry)) return [];
  return Object.entries(entry)
    .filter(([, value]) => typeof value === 'object' && value !== null && countOf(value) > MAX_MEMBERS)
    .map(([field]) => ({ path: field, message: `must not contain more than ${MAX_MEMBERS} values` }));
}

function countOf(value: object): number {
  return Array.isArray(value) ? value.length : Object.keys(value).length;
}

function inSet({ path, message }: FieldError, index: number, entry: unknown): FieldError {
  const externalId =
    typeof entry === 'object' && entry !== null && 'externalId' in entry ? entry.externalId : null;
  return {
    path: path === '' ? `monitors.${index}` : `monitors.${index}.${path}`,
    message:
      typeof externalId === 'string' ? `${message} (externalId "${externalId.slice(0, 255)}")` : message,
  };
}
