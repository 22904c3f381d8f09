import { z } from 'zod';
import { channelTestSchema } from '../deliveries/delivery.ts';
import { ATTEMPT, CHANNEL, MONITOR, SECRET } from '../routes/examples.ts';
import { DASHBOARD, many, nothing, one } from '../routes/route.ts';
import type { Operations } from '../routes/route.ts';
import { channelSchema, channelSecretSchema, createChannelSchema, updateChannelSchema } from './channel.ts';

const CHANNELS = `${DASHBOARD}/channels`;
const tag = 'Channels';
const kind = 'channel';
const answer = one('channel', channelSchema);

/** Webhook channels (design §3 "Dashboard API"). */
export const channelOperations: Operations = {
  [`GET ${CHANNELS}`]: {
    id: 'listChannels',
    tag,
    summary: 'List channels',
    description: 'The newest first.',
    needs: 'member',
    ok: 200,
    answer: many('channels', channelSchema),
    answerExample: { channels: [CHANNEL] },
  },
  [`POST ${CHANNELS}`]: {
    id: 'createChannel',
    tag,
    summary: 'Create a channel',
    description:
      'The answer shows the secret that signs its webhooks. An address that webhooks may not reach is refused.',
    needs: 'member',
    body: createChannelSchema,
    bodyExample: { name: 'On call', url: 'https://hooks.example/tocsin', monitorIds: [MONITOR.id] },
    ok: 201,
    answer: z.strictObject({ channel: channelSchema, secret: channelSecretSchema }),
    answerExample: { channel: CHANNEL, secret: SECRET },
    showsSecret: true,
    answerHeaders: ['Location'],
  },
  [`GET ${CHANNELS}/:id`]: {
    id: 'getChannel',
    tag,
    summary: 'Get a channel',
    needs: 'member',
    kind,
    ok: 200,
    answer,
    answerExample: { channel: CHANNEL },
  },
  [`PATCH ${CHANNELS}/:id`]: {
    id: 'updateChannel',
    tag,
    summary: 'Update a channel',
    description:
      'Only the fields that are given change. `enabled: false` holds what is due; `enabled: true` lets new webhooks pass, and what was held waits until it is redelivered.',
    needs: 'member',
    kind,
    body: updateChannelSchema,
    bodyExample: { enabled: true },
    ok: 200,
    answer,
    answerExample: { channel: CHANNEL },
  },
  [`DELETE ${CHANNELS}/:id`]: {
    id: 'deleteChannel',
    tag,
    summary: 'Delete a channel',
    description: 'It sends nothing more.',
    needs: 'member',
    kind,
    ok: 204,
    answer: null,
  },
  [`GET ${CHANNELS}/:id/secret`]: {
    id: 'getChannelSecret',
    tag,
    summary: 'Reveal the secret of a channel',
    needs: 'owner',
    kind,
    ok: 200,
    answer: one('secret', channelSecretSchema),
    answerExample: { secret: SECRET },
    showsSecret: true,
  },
  [`POST ${CHANNELS}/:id/rotate-secret`]: {
    id: 'rotateChannelSecret',
    tag,
    summary: 'Give a channel a new secret',
    description:
      'The one until now signs beside it for 24 hours; rotating again within these ends the one before that.',
    needs: 'owner',
    kind,
    body: nothing,
    ok: 200,
    answer: z.strictObject({
      secret: channelSecretSchema,
      previousSecretExpiresAt: z.iso
        .datetime({ precision: 3 })
        .describe('When the secret until now signs no more.'),
    }),
    answerExample: { secret: SECRET, previousSecretExpiresAt: '2026-11-21T12:00:00.000Z' },
    showsSecret: true,
  },
  [`POST ${CHANNELS}/:id/test`]: {
    id: 'testChannel',
    tag,
    summary: 'Send a test event',
    description:
      'To a disabled channel too. Waits for what its one attempt comes to; 504 where no notifier makes one.',
    needs: 'member',
    kind,
    body: nothing,
    ok: 200,
    answer: channelTestSchema,
    answerExample: { attempt: ATTEMPT, delivered: true },
    refusals: ['delivery_not_attempted'],
  },
};
