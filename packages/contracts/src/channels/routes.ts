import { z } from 'zod';
import { channelTestSchema } from '../deliveries/delivery.ts';
import { ATTEMPT, CHANNEL, MONITOR, SECRET } from '../routes/examples.ts';
import { defineRoutes, noFields } from '../routes/route.ts';
import { channelSchema, channelSecretSchema, createChannelSchema, updateChannelSchema } from './channel.ts';

const common = { tag: 'Channels', access: 'member' } as const;
const resource = 'channel';
const response = z.strictObject({ channel: channelSchema });

export const channelRoutes = defineRoutes(common, {
  listChannels: {
    endpoint: 'GET /api/dashboard/channels',
    summary: 'List channels',
    description: 'Newest first.',
    response: z.strictObject({ channels: z.array(channelSchema) }),
    responseExample: { channels: [CHANNEL] },
  },
  createChannel: {
    endpoint: 'POST /api/dashboard/channels',
    summary: 'Create a channel',
    description:
      'The response contains the secret that signs its webhooks. A URL that webhooks may not reach is refused.',
    body: createChannelSchema,
    bodyExample: { name: 'On call', url: 'https://hooks.example/tocsin', monitorIds: [MONITOR.id] },
    status: 201,
    response: z.strictObject({ channel: channelSchema, secret: channelSecretSchema }),
    responseExample: { channel: CHANNEL, secret: SECRET },
    showsSecret: true,
    responseHeaders: ['Location'],
  },
  getChannel: {
    endpoint: 'GET /api/dashboard/channels/:id',
    summary: 'Get a channel',
    resource,
    response,
    responseExample: { channel: CHANNEL },
  },
  updateChannel: {
    endpoint: 'PATCH /api/dashboard/channels/:id',
    summary: 'Update a channel',
    description:
      'Changes only the fields given. `enabled: false` holds the deliveries that are due. `enabled: true` sends new webhooks again; held deliveries wait until they are redelivered.',
    resource,
    body: updateChannelSchema,
    bodyExample: { enabled: true },
    response,
    responseExample: { channel: CHANNEL },
  },
  deleteChannel: {
    endpoint: 'DELETE /api/dashboard/channels/:id',
    summary: 'Delete a channel',
    description: 'Deletes its deliveries too.',
    resource,
  },
  getChannelSecret: {
    endpoint: 'GET /api/dashboard/channels/:id/secret',
    access: 'owner',
    summary: 'Reveal the secret of a channel',
    resource,
    response: z.strictObject({ secret: channelSecretSchema }),
    responseExample: { secret: SECRET },
    showsSecret: true,
  },
  rotateChannelSecret: {
    endpoint: 'POST /api/dashboard/channels/:id/rotate-secret',
    access: 'owner',
    summary: 'Rotate the secret of a channel',
    description:
      'Webhooks are also signed with the previous secret for 24 hours, or until the next rotation.',
    resource,
    body: noFields,
    response: z.strictObject({
      secret: channelSecretSchema,
      previousSecretExpiresAt: z.iso
        .datetime({ precision: 3 })
        .describe('When the previous secret stops signing.'),
    }),
    responseExample: { secret: SECRET, previousSecretExpiresAt: '2026-11-21T12:00:00.000Z' },
    showsSecret: true,
  },
  testChannel: {
    endpoint: 'POST /api/dashboard/channels/:id/test',
    summary: 'Send a test event',
    description:
      'Also works for a disabled channel. Waits for the outcome of the only attempt. Returns 504 if no notifier sends it in time.',
    resource,
    body: noFields,
    response: channelTestSchema,
    responseExample: { attempt: ATTEMPT, delivered: true },
    errors: ['delivery_not_attempted'],
  },
});
