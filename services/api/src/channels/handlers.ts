import { createChannelSchema, updateChannelSchema } from '@tocsin/contracts/channels/channel';
import type { channelRoutes } from '@tocsin/contracts/channels/routes';
import { WEBHOOK_DEADLINE_MS } from '@tocsin/contracts/deliveries/webhook';
import { AppError } from '@tocsin/contracts/errors';
import type { FieldError } from '@tocsin/contracts/errors';
import { toFieldErrors } from '@tocsin/contracts/field-errors';
import { findUnknownMonitors } from '@tocsin/db/monitors/monitor-row';
import { createChannel } from '@tocsin/db/channels/write-channels';
import { deleteChannel } from '@tocsin/db/channels/write-channels';
import { findChannelRow } from '@tocsin/db/channels/read-channels';
import { notFound } from '@tocsin/db/database/errors';
import { getChannel } from '@tocsin/db/channels/read-channels';
import { listChannels } from '@tocsin/db/channels/read-channels';
import { revealChannelSecret } from '@tocsin/db/channels/read-channels';
import { rotateChannelSecret } from '@tocsin/db/channels/write-channels';
import { updateChannel } from '@tocsin/db/channels/write-channels';
import { createTestDelivery } from '@tocsin/db/deliveries/test-deliveries';
import { findTestOutcome, abandonTestDelivery } from '@tocsin/db/deliveries/test-deliveries';
import { z } from 'zod';
import type { ApiContext } from '../context.ts';
import { invalidFields, unavailable } from '../http/errors.ts';
import { SENT } from '../http/implement.ts';
import type { ApiRequest, Handlers } from '../http/implement.ts';
import type { RawBody } from '../http/json-body.ts';
import { waitFor } from '../http/wait-for.ts';
import { hintDeliveries } from '../queue-hints.ts';

/** A notifier starts a test event well within this time and records its outcome. */
const START_WITHIN_MS = 5_000;
const TEST_WITHIN_MS = START_WITHIN_MS + WEBHOOK_DEADLINE_MS;

export function channelHandlers(context: ApiContext): Handlers<typeof channelRoutes> {
  const { db } = context;
  return {
    listChannels: async ({ caller }) => ({ channels: await listChannels(db, caller.accountId) }),
    createChannel: {
      parseBody: (body, { caller }) => parseChannel(context, caller.accountId, createChannelSchema, body),
      handle: async ({ caller: { accountId }, body, location }) => {
        const { id, secret } = await createChannel(context, { accountId, ...body });
        const channel = await getChannel(db, accountId, id);
        return { body: { channel, secret }, headers: { Location: location(id) } };
      },
    },
    getChannel: async ({ caller, id }) => ({ channel: await getChannel(db, caller.accountId, id) }),
    updateChannel: {
      parseBody: async (body, { caller, id }) => {
        // Before the look-up of the URL in DNS, which an unknown channel must not cause.
        await findChannelRow(db, caller.accountId, id);
        return parseChannel(context, caller.accountId, updateChannelSchema, body);
      },
      handle: async ({ caller, id, body }) => ({
        channel: await updateChannel(db, caller.accountId, id, body),
      }),
    },
    deleteChannel: async ({ caller, id }) => deleteChannel(db, caller.accountId, id),
    getChannelSecret: async ({ caller, id }) => ({
      secret: await revealChannelSecret(context, caller.accountId, id),
    }),
    rotateChannelSecret: async ({ caller, id }) => {
      const { secret, previousSecretExpiresAt } = await rotateChannelSecret(context, caller.accountId, id);
      return { secret, previousSecretExpiresAt: previousSecretExpiresAt.toISOString() };
    },
    testChannel: (request) => testChannel(context, request),
  };
}

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
  if (shutdown.aborted) throw unavailable('This server is stopping. Try again soon.');
  throw new AppError(
    'delivery_not_attempted',
    `No notifier sent it within ${TEST_WITHIN_MS / 1_000} seconds.`,
  );
}

/** @throws AppError validation_failed, with all invalid fields */
async function parseChannel<Schema extends z.ZodObject>(
  { db, egress }: ApiContext,
  accountId: string,
  schema: Schema,
  body: RawBody,
): Promise<z.output<Schema>> {
  const result = schema.safeParse(body);
  const errors = [
    ...(result.success ? [] : toFieldErrors(result.error.issues, schema)),
    ...(await validateUrl(egress, accountId, body['url'])),
    ...(await validateMonitorIds(db, accountId, body['monitorIds'])),
  ];
  if (!result.success || errors.length > 0) throw invalidFields(errors);
  return result.data;
}

/** Refuses a receiver that the egress guard would never let a webhook reach. */
async function validateUrl(
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

/** Finds the ids that are well-formed but not of a monitor of this account. */
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
