import {
  type ChannelUpdate,
  createChannelSchema,
  createCliChannelSchema,
  updateChannelSchema,
} from '@tocsin/contracts/channels/channel';
import { channelRoutes, cliChannelRoutes } from '@tocsin/contracts/channels/routes';
import { WEBHOOK_DEADLINE_MS } from '@tocsin/contracts/deliveries/webhook';
import { AppError, type FieldError } from '@tocsin/contracts/errors';
import { revealChannelSecret, rotateChannelSecret } from '@tocsin/db/channels/channel-secrets';
import type { Actor } from '@tocsin/db/audit-log/actor';
import { findUnknownMonitors } from '@tocsin/db/monitors/monitor-row';
import {
  createChannel,
  deleteChannel,
  type NewChannel,
  updateChannel,
} from '@tocsin/db/channels/write-channels';
import { updateMonitorChannels } from '@tocsin/db/channels/monitor-channels';
import { findChannelRow, getChannel, listChannels } from '@tocsin/db/channels/read-channels';
import {
  abandonTestDelivery,
  createTestDelivery,
  findTestOutcome,
} from '@tocsin/db/deliveries/test-deliveries';
import { notFound } from '@tocsin/db/database/errors';
import { z } from 'zod';
import type { ApiContext } from '../context.ts';
import { parseFields, stopping } from '../http/errors.ts';
import { type ApiRequest, implement, SENT } from '../http/implement.ts';
import type { RawBody } from '../http/json-body.ts';
import { waitFor } from '../http/wait-for.ts';
import { hintDeliveries } from '../queue-hints.ts';

/** A notifier starts a test event well within this time and records its outcome. */
const START_WITHIN_MS = 5_000;
const TEST_WITHIN_MS = START_WITHIN_MS + WEBHOOK_DEADLINE_MS;

/** The handlers that the dashboard and programs share. */
function channelHandlers(context: ApiContext) {
  const { db } = context;
  return {
    list: async ({ caller }: { caller: Actor }) => ({ channels: await listChannels(db, caller.accountId) }),
    get: async ({ caller, id }: { caller: Actor; id: string }) => ({
      channel: await getChannel(db, caller.accountId, id),
    }),
    create: <Schema extends typeof createChannelSchema | typeof createCliChannelSchema>(schema: Schema) => ({
      parseBody: (body: RawBody, { caller }: { caller: Actor }) =>
        parseChannel(context, caller.accountId, schema, body),
      handle: async ({ caller, body, location }: CreateRequest) => {
        const { id, secret } = await createChannel(context, caller, body);
        const channel = await getChannel(db, caller.accountId, id);
        return { body: { channel, secret }, headers: { Location: location(id) } };
      },
    }),
    update: {
      parseBody: async (body: RawBody, { caller, id }: { caller: Actor; id: string }) => {
        // An unknown channel must not cause a DNS lookup of the URL.
        await findChannelRow(db, caller.accountId, id);
        return parseChannel(context, caller.accountId, updateChannelSchema, body);
      },
      handle: async ({ caller, id, body }: { caller: Actor; id: string; body: ChannelUpdate }) => ({
        channel: await updateChannel(db, caller, id, body),
      }),
    },
    remove: ({ caller, id }: { caller: Actor; id: string }) => deleteChannel(db, caller, id),
  };
}

interface CreateRequest {
  readonly caller: Actor;
  readonly body: NewChannel;
  readonly location: (id: string) => string;
}

export const cliChannelApi = implement(cliChannelRoutes, (context) => {
  const { list, get, create, update, remove } = channelHandlers(context);
  return {
    listCliChannels: list,
    createCliChannel: create(createCliChannelSchema),
    getCliChannel: get,
    updateCliChannel: update,
    deleteCliChannel: remove,
  };
});

export const channelApi = implement(channelRoutes, (context) => {
  const { list, get, create, update, remove } = channelHandlers(context);
  return {
    listChannels: list,
    createChannel: create(createChannelSchema),
    getChannel: get,
    updateChannel: update,
    deleteChannel: remove,
    updateMonitorChannels: ({ caller, id, body }) => updateMonitorChannels(context.db, caller, id, body),
    getChannelSecret: async ({ caller, id }) => ({
      secret: await revealChannelSecret(context, caller, id),
    }),
    rotateChannelSecret: async ({ caller, id }) => {
      const { secret, previousSecretExpiresAt } = await rotateChannelSecret(context, caller, id);
      return { secret, previousSecretExpiresAt: previousSecretExpiresAt.toISOString() };
    },
    testChannel: (request) => testChannel(context, request),
  };
});

/** Sends a test event and waits for the outcome of its only attempt. */
async function testChannel(
  context: ApiContext,
  { caller, id: channelId, res }: ApiRequest<typeof channelRoutes.testChannel>,
): Promise<(Awaited<ReturnType<typeof findTestOutcome>> & object) | typeof SENT> {
  const { db, shutdown, settings } = context;
  const id = await createTestDelivery(db, caller.accountId, channelId, settings.defaultRegion);
  hintDeliveries(context, [id]);
  const outcome = await waitFor({
    find: () => findTestOutcome(db, id),
    forMs: TEST_WITHIN_MS,
    isWanted: () => !res.destroyed && !shutdown.aborted,
  });
  if (outcome) return outcome;
  if (outcome === undefined) throw notFound('channel');
  await abandonTestDelivery(db, id);
  if (res.destroyed) return SENT;
  if (shutdown.aborted) throw stopping();
  throw new AppError(
    'delivery_not_attempted',
    `No notifier sent the test event within ${TEST_WITHIN_MS / 1_000} seconds.`,
  );
}

/** @throws AppError validation_failed, with all invalid fields */
async function parseChannel<Schema extends z.ZodObject>(
  { db, egress }: ApiContext,
  accountId: string,
  schema: Schema,
  body: RawBody,
): Promise<z.output<Schema>> {
  return parseFields(schema, body, [
    ...(await validateUrl(egress, accountId, body['url'])),
    ...(await validateMonitorIds(db, accountId, body['monitorIds'])),
  ]);
}

/** Refuses receivers that the egress guard blocks. @returns errors of the field `url` */
export async function validateUrl(
  egress: ApiContext['egress'],
  accountId: string,
  url: unknown,
): Promise<FieldError[]> {
  const wellFormed = createChannelSchema.shape.url.safeParse(url);
  if (!wellFormed.success) return [];
  const refusal = await egress.checkUrl(wellFormed.data, accountId);
  return refusal === null ? [] : [{ path: 'url', message: `cannot be a receiver: ${refusal}` }];
}

const monitorId = z.uuid();

/** Finds well-formed ids that are not monitors of this account. */
async function validateMonitorIds(
  db: ApiContext['db'],
  accountId: string,
  given: unknown,
): Promise<FieldError[]> {
  if (!Array.isArray(given)) return [];
  const ids = given.map((id: unknown) => monitorId.safeParse(id).data?.toLowerCase() ?? null);
  const wellFormed = ids.filter((id) => id !== null);
  const unknown = new Set(await findUnknownMonitors(db, accountId, wellFormed));
  return ids.flatMap((id, index) =>
    id !== null && unknown.has(id)
      ? [{ path: `monitorIds.${index}`, message: 'is not a monitor of this account' }]
      : [],
  );
}
