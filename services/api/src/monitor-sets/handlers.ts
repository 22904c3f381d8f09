import { setImmediate as yieldToOthers } from 'node:timers/promises';
import { type ChannelSetEntry, channelSetEntrySchema } from '@tocsin/contracts/channels/channel';
import { type FieldError, toPointer } from '@tocsin/contracts/errors';
import { toFieldErrors } from '@tocsin/contracts/field-errors';
import { LIMITS } from '@tocsin/contracts/limits';
import {
  type MonitorSet,
  monitorSetEntrySchema,
  monitorSetSchema,
} from '@tocsin/contracts/monitor-sets/monitor-set';
import { monitorSetRoutes } from '@tocsin/contracts/monitor-sets/routes';
import { validateMonitor } from '@tocsin/contracts/monitors/monitor';
import { monitorErrors } from '@tocsin/core/checks/monitor-errors';
import { findReceivers } from '@tocsin/db/channels/read-channels';
import { applySet } from '@tocsin/db/monitor-sets/apply-set';
import { z } from 'zod';
import { validateTemplate, validateUrl } from '../channels/handlers.ts';
import type { ApiContext } from '../context.ts';
import { withEtag } from '../http/headers.ts';
import { invalidFields } from '../http/errors.ts';
import { implement } from '../http/implement.ts';
import type { RawBody } from '../http/json-body.ts';
import { hintStatusChanges } from '../queue-hints.ts';

export const monitorSetApi = implement(monitorSetRoutes, (context) => {
  const { defaultRegion } = context.settings;
  return {
    applyMonitors: {
      parseBody: async (body, { caller }) => {
        const set = await parseSet(body);
        await validateReceivers(context, caller.accountId, set.channels ?? []);
        return set;
      },
      handle: async ({ caller, body, versions }) => {
        const applied = await applySet(context, caller, body, defaultRegion, versions);
        const { result, version, schedules, statusChangeIds } = applied;
        for (const schedule of schedules) context.schedules.enqueue(schedule.monitorId, schedule.regions);
        hintStatusChanges(context, statusChangeIds);
        return withEtag({ version, ...result });
      },
    },
  };
});

/** Time to validate before other requests run. */
const TURN_MS = 10;
/** Validating a hostile template takes tens of milliseconds. */
const MAX_TEMPLATES = 100;
/** More errors are likely repetitions. */
const MAX_ERRORS = 100;
/** A field with more members gets one error instead of one for each member. */
const MAX_MEMBERS = { monitors: 1_000, channels: LIMITS.monitorSetSize } as const;

type Field = keyof typeof MAX_MEMBERS;

/** Monitors and channels are validated one by one. */
const outerSchema = monitorSetSchema.extend({
  monitors: z
    .array(z.unknown(), { error: 'must be an array of monitors' })
    .max(LIMITS.monitorSetSize, { error: `must contain at most ${LIMITS.monitorSetSize} monitors` }),
  channels: z
    .array(z.unknown(), { error: 'must be an array of channels' })
    .max(LIMITS.channelSetSize, { error: `must contain at most ${LIMITS.channelSetSize} channels` })
    .optional(),
});

/** Parses a set with defaults for omitted fields. @throws AppError validation_failed, with at most a hundred invalid fields */
async function parseSet(body: RawBody): Promise<MonitorSet> {
  const outer = outerSchema.safeParse(body);
  const errors = outer.success ? [] : toFieldErrors(outer.error.issues, monitorSetSchema);
  const entriesOf = (field: Field): readonly unknown[] => {
    const given: unknown = body[field];
    return Array.isArray(given) && !errors.some(({ path }) => path === field) ? given : [];
  };
  const monitors = await validateEntries('monitors', entriesOf('monitors'), errors, (entry) =>
    validateMonitor(monitorSetEntrySchema, entry, monitorErrors),
  );
  const templates = new Map<string, FieldError[]>();
  const templateErrors = (template: string | null): FieldError[] => {
    if (template === null) return [];
    if (templates.size >= MAX_TEMPLATES && !templates.has(template)) {
      const message = `must be one of at most ${MAX_TEMPLATES} different templates in a set`;
      return [{ path: 'template', message }];
    }
    const found = templates.get(template) ?? validateTemplate(template);
    templates.set(template, found);
    return found;
  };
  const channels = await validateEntries('channels', entriesOf('channels'), errors, (entry) => {
    const { data = null, error } = channelSetEntrySchema.safeParse(entry);
    const found = error
      ? toFieldErrors(error.issues, channelSetEntrySchema)
      : templateErrors(data?.template ?? null);
    return { input: data, errors: found };
  });
  if (!outer.success || errors.length > 0) throw invalidFields(errors);
  const { channels: given, ...rest } = outer.data;
  return { ...rest, monitors, ...(given && { channels }) };
}

async function validateEntries<Entry>(
  field: Field,
  given: readonly unknown[],
  errors: FieldError[],
  validate: (entry: unknown) => { input: Entry | null; errors: readonly FieldError[] },
): Promise<Entry[]> {
  const entries: Entry[] = [];
  const firstWith = new Map<string, number>();
  let turnEndsAt = performance.now() + TURN_MS;
  for (let index = 0; index < given.length && errors.length < MAX_ERRORS; index += 1) {
    if (performance.now() > turnEndsAt) {
      await yieldToOthers();
      turnEndsAt = performance.now() + TURN_MS;
    }
    const overfull = findOverfull(given[index], MAX_MEMBERS[field]);
    const { input, errors: found } =
      overfull.length > 0 ? { input: null, errors: overfull } : validate(given[index]);
    errors.push(
      ...found.slice(0, MAX_ERRORS).map((error) => inSet(error, `${field}.${index}`, given[index])),
    );
    const externalId = externalIdOf(given[index]);
    const first = externalId === null ? undefined : firstWith.get(externalId);
    if (first !== undefined) {
      const message = `"${externalId}" is also the externalId of ${field}.${first}`;
      errors.push({ path: `${field}.${index}.externalId`, message });
    } else if (externalId !== null) firstWith.set(externalId, index);
    if (input !== null) entries.push(input);
  }
  return entries;
}

/** Null if it is invalid, whatever the other fields are. */
function externalIdOf(entry: unknown): string | null {
  if (typeof entry !== 'object' || entry === null) return null;
  const { externalId } = entry as { readonly externalId?: unknown };
  return monitorSetEntrySchema.shape.externalId.safeParse(externalId).data ?? null;
}

function findOverfull(entry: unknown, max: number): FieldError[] {
  if (typeof entry !== 'object' || entry === null || Array.isArray(entry)) return [];
  return Object.entries(entry)
    .filter(([, value]) => typeof value === 'object' && value !== null && countOf(value) > max)
    .map(([field]) => ({ path: field, message: `must not contain more than ${max} values` }));
}

function countOf(value: object): number {
  return Array.isArray(value) ? value.length : Object.keys(value).length;
}

function inSet({ path, pointer, message, ...rest }: FieldError, at: string, entry: unknown): FieldError {
  const externalId =
    typeof entry === 'object' && entry !== null && 'externalId' in entry ? entry.externalId : null;
  return {
    ...rest,
    path: path === '' ? at : `${at}.${path}`,
    ...(pointer !== undefined && { pointer: toPointer(at.split('.')) + pointer }),
    message:
      typeof externalId === 'string' ? `${message} (externalId "${externalId.slice(0, 255)}")` : message,
  };
}

/** Refuses new receivers that the egress guard blocks. Looks up each URL once, concurrently. */
async function validateReceivers(
  { db, egress }: ApiContext,
  accountId: string,
  channels: readonly ChannelSetEntry[],
): Promise<void> {
  const keys = channels.map(({ externalId }) => externalId);
  const current = await findReceivers(db, accountId, keys);
  const isNew = ({ externalId, url }: ChannelSetEntry): boolean => current.get(externalId) !== url;
  const urls = [...new Set(channels.filter(isNew).map(({ url }) => url))];
  const checks = urls.map(async (url) => [url, await validateUrl(egress, accountId, url)] as const);
  const errorsOf = new Map(await Promise.all(checks));
  const errors = channels.flatMap((channel, index) =>
    isNew(channel)
      ? (errorsOf.get(channel.url) ?? []).map((error) => inSet(error, `channels.${index}`, channel))
      : [],
  );
  if (errors.length > 0) throw invalidFields(errors);
}
