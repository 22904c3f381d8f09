import { setImmediate as turn } from 'node:timers/promises';
import type { FieldError } from '@tocsin/contracts/errors';
import { fieldsOf, toFieldErrors } from '@tocsin/contracts/field-errors';
import { LIMITS } from '@tocsin/contracts/limits';
import { monitorSetEntrySchema, monitorSetSchema } from '@tocsin/contracts/monitor-sets/monitor-set';
import type { MonitorSet, MonitorSetEntry } from '@tocsin/contracts/monitor-sets/monitor-set';
import { judgeMonitor } from '@tocsin/contracts/monitors/monitor';
import { z } from 'zod';
import { invalidFields } from '../http/field-errors.ts';
import { unknownRegions } from '../monitors/monitor-fields.ts';

/** Monitors that are judged before other requests have their turn. */
const JUDGED_AT_ONCE = 100;
/** Where there are more faults, they are likely the same one again and again. */
const ENOUGH_ERRORS = 100;

/** More than any field of a monitor may hold: what has more is not judged one by one, each with a fault of its own. */
const MOST_MEMBERS = 1_000;

const SET_FIELDS = fieldsOf(monitorSetSchema);
/** Everything but the monitors themselves, which are judged one by one. */
const outerSchema = monitorSetSchema.extend({
  monitors: z
    .array(z.unknown(), { error: 'must be an array of monitors' })
    .max(LIMITS.monitorSetSize, { error: `must hold at most ${LIMITS.monitorSetSize} monitors` }),
});

/**
 * The body of "apply a set" with the defaults of each monitor: what it does not name has its default, not its former value.
 * @param regions the only codes that may be named; null: any
 * @throws AppError validation_failed, with every fault at once, a hundred at most
 */
export async function parseSet(
  body: Readonly<Record<string, unknown>>,
  regions: readonly string[] | null,
): Promise<MonitorSet> {
  const outer = outerSchema.safeParse(body);
  const errors = outer.success ? [] : toFieldErrors(outer.error.issues, () => SET_FIELDS);
  const given: unknown = body['monitors'];
  const tooMany = errors.some(({ path }) => path === 'monitors');
  const monitors = Array.isArray(given) && !tooMany ? await judgeAll(given, regions, errors) : [];
  if (!outer.success || errors.length > 0) throw invalidFields(errors);
  return { ...outer.data, monitors };
}

/** @param errors takes what is wrong */
async function judgeAll(
  given: readonly unknown[],
  regions: readonly string[] | null,
  errors: FieldError[],
): Promise<MonitorSetEntry[]> {
  const entries: MonitorSetEntry[] = [];
  const firstWith = new Map<string, number>();
  for (let index = 0; index < given.length && errors.length < ENOUGH_ERRORS; index += 1) {
    if (index > 0 && index % JUDGED_AT_ONCE === 0) await turn();
    const { input, faults } = judgeOne(given[index], regions);
    errors.push(...faults.slice(0, ENOUGH_ERRORS).map((fault) => inSet(fault, index, given[index])));
    const externalId = externalIdOf(given[index]);
    const first = externalId === null ? undefined : firstWith.get(externalId);
    if (first !== undefined) {
      const message = `"${externalId}" is the externalId of monitors.${first} too`;
      errors.push({ path: `monitors.${index}.externalId`, message });
    } else if (externalId !== null) firstWith.set(externalId, index);
    if (input !== null) entries.push(input);
  }
  return entries;
}

/** As it is given, also of an entry that has a fault elsewhere; null where it is none at all. */
function externalIdOf(entry: unknown): string | null {
  if (typeof entry !== 'object' || entry === null) return null;
  const { externalId } = entry as { readonly externalId?: unknown };
  return monitorSetEntrySchema.shape.externalId.safeParse(externalId).data ?? null;
}

function judgeOne(
  entry: unknown,
  regions: readonly string[] | null,
): { input: MonitorSetEntry | null; faults: readonly FieldError[] } {
  const overfull = findOverfull(entry);
  if (overfull.length > 0) return { input: null, faults: overfull };
  const { input, errors } = judgeMonitor(monitorSetEntrySchema, entry);
  return { input, faults: [...errors, ...unknownRegions(entry, regions)] };
}

function findOverfull(entry: unknown): FieldError[] {
  if (typeof entry !== 'object' || entry === null || Array.isArray(entry)) return [];
  return Object.entries(entry)
    .filter(([, value]) => typeof value === 'object' && value !== null && countOf(value) > MOST_MEMBERS)
    .map(([field]) => ({ path: field, message: `must not hold more than ${MOST_MEMBERS} values` }));
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
