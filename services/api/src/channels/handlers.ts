import {
  type Channel,
  channelPreviewSchema,
  createChannelSchema,
  updateChannelSchema,
} from '@tocsin/contracts/channels/channel';
import { channelRoutes } from '@tocsin/contracts/channels/routes';
import { WEBHOOK_DEADLINE_MS } from '@tocsin/contracts/deliveries/webhook';
import { AppError, type FieldError } from '@tocsin/contracts/errors';
import { previewBodies } from '@tocsin/core/formats/render-body';
import { TemplateError } from '@tocsin/core/formats/template';
import { revealChannelSecret, rotateChannelSecret } from '@tocsin/db/channels/channel-secrets';
import { validateMonitorIds } from '@tocsin/db/monitors/monitor-row';
import { createChannel, deleteChannel, updateChannel } from '@tocsin/db/channels/write-channels';
import { updateMonitorChannels } from '@tocsin/db/channels/monitor-channels';
import { findChannelRow, getChannel, listChannels, versionOf } from '@tocsin/db/channels/read-channels';
import {
  abandonTestDelivery,
  createTestDelivery,
  findTestOutcome,
} from '@tocsin/db/deliveries/test-deliveries';
import { notFound } from '@tocsin/db/database/errors';
import type { z } from 'zod';
import type { ApiContext } from '../context.ts';
import { parseFields, stopping } from '../http/errors.ts';
import { created, withEtag, withEtags } from '../http/headers.ts';
import { type ApiRequest, implement, SENT } from '../http/implement.ts';
import type { RawBody } from '../http/json-body.ts';
import type { Caller } from '../http/request-state.ts';
import { waitFor } from '../http/wait-for.ts';
import { hintDeliveries } from '../queue-hints.ts';

/** A notifier starts a test event within this time and records its outcome. */
const START_WITHIN_MS = 5_000;
const TEST_WITHIN_MS = START_WITHIN_MS + WEBHOOK_DEADLINE_MS;

export const channelApi = implement(channelRoutes, (context) => {
  const { db, settings } = context;
  return {
    listChannels: async ({ caller, query }) => ({
      channels: withEtags(
        (await listChannels(db, caller.accountId, query.source, secretsFor(context, caller))).map((channel) =>
          visibleTo(caller, channel),
        ),
        versionOf,
      ),
    }),
    getChannel: async ({ caller, id }) =>
      respond(caller, await getChannel(db, caller.accountId, id, 'id', secretsFor(context, caller))),
    getChannelByExternalId: async ({ caller, path }) =>
      respond(
        caller,
        await getChannel(db, caller.accountId, path.externalId, 'externalId', secretsFor(context, caller)),
      ),
    createChannel: {
      // A repeated request must not fail because of what has changed since. With invalid fields, all errors are reported at once.
      parseBody: (body, { caller }) =>
        createChannelSchema.safeParse(body).data ??
        parseChannel(context, caller.accountId, createChannelSchema, body),
      handle: async ({ caller, headers, body, location }) => {
        const { channel, secret, version, isReplayed } = await createChannel(context, caller, body, {
          key: headers['Idempotency-Key'],
          validate: () => parseChannel(context, caller.accountId, createChannelSchema, body),
        });
        return created({ channel, secret }, location(channel.id), version, isReplayed);
      },
    },
    updateChannel: {
      parseBody: async (body, { caller, id }) => {
        // An unknown channel must not cause a DNS lookup of the URL.
        await findChannelRow(db, caller.accountId, id);
        return parseChannel(context, caller.accountId, updateChannelSchema, body);
      },
      handle: async ({ caller, id, body, versions }) =>
        respond(caller, await updateChannel(context, caller, id, body, { versions })),
    },
    deleteChannel: ({ caller, id, versions }) => deleteChannel(db, caller, id, versions),
    updateMonitorChannels: ({ caller, id, body }) => updateMonitorChannels(db, caller, id, body),
    previewChannel: {
      parseBody: async (body) => parseFields(channelPreviewSchema, body, validateTemplate(body['template'])),
      handle: async ({ body }) => ({ previews: previewBodies(body, settings.publicUrl) }),
    },
    getChannelSecret: async ({ caller, id }) => ({
      secret: await revealChannelSecret(context, caller, id),
    }),
    rotateChannelSecret: async ({ caller, id, versions }) => {
      const { secret, version, ...rotated } = await rotateChannelSecret(context, caller, id, versions);
      const previousSecretExpiresAt = rotated.previousSecretExpiresAt.toISOString();
      return withEtag({ version, secret, previousSecretExpiresAt });
    },
    testChannel: (request) => testChannel(context, request),
  };
});

const respond = (caller: Caller, channel: Channel) => withVersion(visibleTo(caller, channel));

/** A viewer gets another ETag than a member, so that a hidden URL is never written back. */
const withVersion = (channel: Channel) => withEtag({ version: versionOf(channel), channel });

/** Returns what opens header values and routing keys for the caller, or null. */
function secretsFor({ secrets }: ApiContext, { canWrite }: Caller): ApiContext['secrets'] | null {
  return canWrite ? secrets : null;
}

/** The path of a receiver's URL is often its password, so viewers see only the host. */
function visibleTo<Shown extends Channel>({ role }: Caller, channel: Shown): Shown {
  return role === 'viewer' ? { ...channel, url: new URL(channel.url).origin } : channel;
}

/** Sends a test event, which is attempted once, and waits for the outcome. */
async function testChannel(
  context: ApiContext,
  { caller, id: channelId, res }: Pick<ApiRequest<typeof channelRoutes.testChannel>, 'caller' | 'id' | 'res'>,
): Promise<(Awaited<ReturnType<typeof findTestOutcome>> & object) | typeof SENT> {
  const { db, shutdown, settings } = context;
  const id = await createTestDelivery(db, caller, channelId, settings.defaultRegion, settings.publicUrl);
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
    ...validateTemplate(body['template']),
  ]);
}

/** Renders each webhook event with sample values. @returns errors of the field `template` */
export function validateTemplate(template: unknown): FieldError[] {
  const wellFormed = createChannelSchema.shape.template.safeParse(template);
  if (!wellFormed.success || wellFormed.data === null) return [];
  try {
    previewBodies({ format: 'custom', template: wellFormed.data }, 'https://tocsin.example');
    return [];
  } catch (error) {
    if (!(error instanceof TemplateError)) throw error;
    return [{ path: 'template', message: `is invalid: ${error.message}` }];
  }
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
