import { createChannelSchema, updateChannelSchema } from '@tocsin/contracts/channels/channel';
import type { ChannelInput, ChannelUpdate } from '@tocsin/contracts/channels/channel';
import type { FieldError } from '@tocsin/contracts/errors';
import { fieldsOf, toFieldErrors } from '@tocsin/contracts/field-errors';
import { findForeignMonitors } from '@tocsin/db/channels/read-channels';
import { z } from 'zod';
import type { ApiContext } from '../context.ts';
import { invalidFields } from '../http/field-errors.ts';

type Body = Readonly<Record<string, unknown>>;
type Judges = Pick<ApiContext, 'db' | 'egress'>;

const monitorId = z.uuid();

/** The body of "create a channel". @throws AppError validation_failed, with every fault at once */
export function parseChannel(judges: Judges, accountId: string, body: Body): Promise<ChannelInput> {
  return parse(judges, accountId, createChannelSchema, body);
}

/** The body of "update a channel": any subset of the fields. @throws AppError validation_failed, with every fault at once */
export function parseChannelUpdate(judges: Judges, accountId: string, body: Body): Promise<ChannelUpdate> {
  return parse(judges, accountId, updateChannelSchema, body);
}

async function parse<Schema extends z.ZodObject>(
  { db, egress }: Judges,
  accountId: string,
  schema: Schema,
  body: Body,
): Promise<z.output<Schema>> {
  const result = schema.safeParse(body);
  const errors = [
    ...(result.success ? [] : toFieldErrors(result.error.issues, () => fieldsOf(schema))),
    ...(await urlFaults(egress, accountId, body['url'])),
    ...(await monitorFaults(db, accountId, body['monitorIds'])),
  ];
  if (!result.success || errors.length > 0) throw invalidFields(errors);
  return result.data;
}

/** A receiver that the guard would never let a webhook reach is refused at once (design §6). */
async function urlFaults(egress: Judges['egress'], accountId: string, url: unknown): Promise<FieldError[]> {
  const wellFormed = createChannelSchema.shape.url.safeParse(url);
  if (!wellFormed.success) return [];
  const refusal = await egress.checkUrl(wellFormed.data, accountId);
  return refusal === null ? [] : [{ path: 'url', message: `cannot be a receiver: ${refusal}` }];
}

/** The ids that are well-formed but not of a monitor of this account. */
async function monitorFaults(db: Judges['db'], accountId: string, given: unknown): Promise<FieldError[]> {
  if (!Array.isArray(given)) return [];
  const ids = given.map((id: unknown) => monitorId.safeParse(id).data?.toLowerCase() ?? null);
  const known = ids.filter((id) => id !== null);
  const foreign = new Set(await findForeignMonitors(db, accountId, known));
  return ids.flatMap((id, index) =>
    id !== null && foreign.has(id)
      ? [{ path: `monitorIds.${index}`, message: 'is not a monitor of this account' }]
      : [],
  );
}
