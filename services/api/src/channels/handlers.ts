import {
  createChannelSchema,
  createCliChannelSchema,
  updateChannelSchema,
} from '@tocsin/contracts/channels/channel';
import { channelRoutes } from '@tocsin/contracts/channels/routes';
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

/** A notifier starts a test event within this time and records its outcome. */
const START_WITHIN_MS = 5_000;
const TEST_WITHIN_MS = START_WITHIN_MS + WEBHOOK_DEADLINE_MS;

type CreateSchema = typeof createChannelSchema | typeof createCliChannelSchema;

interface CreateRequest {
  readonly caller: Actor;
  readonly body: NewChannel;
  readonly location: (id: string) => string;
}

export const channelApi = implement(channelRoutes, (context) => {
  const { db } = context;
  const createWith = <Schema extends CreateSchema>(schema: Schema) => ({
    parseBody: (body: RawBody, { caller }: { caller: Actor }) =>
      parseChannel(context, caller.accountId, schema, body),
    handle: async ({ caller, body, location }: CreateRequest) => {
      const { id, secret } = await createChannel(context, caller, body);
      const channel = await getChannel(db, caller.accountId, id);
      return { body: { channel, secret }, headers: { Location: location(id) } };
    },
  });
  return {
    listChannels: async ({ caller }) => ({ channels: await listChannels(db, caller.accountId) }),
    getChannel: async ({ caller, id }) => ({ channel: await getChannel(db, caller.accountId, id) }),
    createChannel: createWith(createCliChannelSchema),
    createChannelInDashboard: createWith(createChannelSchema),
    updateChannel: {
      parseBody: async (body, { caller, id }) => {
        // An unknown channel must not cause a DNS lookup of the URL.
        await findChannelRow(db, caller.accountId, id);
        return parseChannel(context, caller.accountId, updateChannelSchema, body);
      },
      handle: async ({ caller, id, body }) => ({ channel: await updateChannel(db, caller, id, body) }),
    },
    deleteChannel: ({ caller, id }) => deleteChannel(db, caller, id),
    updateMonitorChannels: ({ caller, id, body }) => updateMonitorChannels(db, caller, id, body),
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

/** Finds unknown monitors, even if other ids are malformed. */
async function validateMonitorIds(
  db: ApiContext['db'],
  accountId: string,
  given: unknown,
): Promise<FieldError[]> {
  if (!Array.isArray(given)) return [];
  const ids = given.map((id: unknown) => z.uuid().safeParse(id).data?.toLowerCase());
  const wellFormed = ids.filter((id) => id !== undefined);
  const unknown = new Set<unknown>(await findUnknownMonitors(db, accountId, wellFormed));
  const message = 'is not a monitor of this account';
  return ids.flatMap((id, index) => (unknown.has(id) ? [{ path: `monitorIds.${index}`, message }] : []));
}
