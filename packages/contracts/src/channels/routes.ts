import { z } from 'zod';
import { channelTestSchema } from '../deliveries/delivery.ts';
import { ATTEMPT, CHANNEL, MONITOR, SECRET } from '../routes/examples.ts';
import { defineRoutes, noFields, withDashboard } from '../routes/route.ts';
import {
  channelSchema,
  channelSecretSchema,
  createChannelSchema,
  createCliChannelSchema,
  monitorChannelsSchema,
  updateChannelSchema,
} from './channel.ts';

const tag = 'Channels';
const resource = 'channel';
const response = z.strictObject({ channel: channelSchema });

const sharedRoutes = defineRoutes(
  { tag, access: 'write key' },
  {
    listChannels: {
      endpoint: 'GET /api/cli/channels',
      access: 'key',
      summary: 'List channels',
      description: 'Newest first.',
      response: z.strictObject({ channels: z.array(channelSchema) }),
      responseExample: { channels: [CHANNEL] },
    },
    getChannel: {
      endpoint: 'GET /api/cli/channels/:id',
      access: 'key',
      summary: 'Get a channel',
      resource,
      response,
      responseExample: { channel: CHANNEL },
    },
    updateChannel: {
      endpoint: 'PATCH /api/cli/channels/:id',
      summary: 'Update a channel',
      description:
        'Changes only the fields given. `enabled: false` holds the deliveries that are due. `enabled: true` sends new webhooks again; held deliveries wait until they are redelivered.',
      resource,
      body: updateChannelSchema,
      bodyExample: { enabled: true },
      response,
      responseExample: { channel: CHANNEL },
      errors: ['conflict', 'quota_exceeded'],
    },
    deleteChannel: {
      endpoint: 'DELETE /api/cli/channels/:id',
      summary: 'Delete a channel',
      description: 'Deletes its deliveries too.',
      resource,
    },
  },
);

const create = {
  tag,
  summary: 'Create a channel',
  status: 201,
  response: z.strictObject({ channel: channelSchema, secret: channelSecretSchema }),
  responseExample: { channel: CHANNEL, secret: SECRET },
  showsSecret: true,
  responseHeaders: ['Location'],
} as const;

const creationRoutes = defineRoutes(create, {
  createChannel: {
    endpoint: 'POST /api/cli/channels',
    access: 'write key',
    description:
      'The response contains the secret that signs its webhooks, which no other response to a key shows. A URL that webhooks may not reach is refused. A key that is bound to sources may only create channels of these sources.',
    body: createCliChannelSchema,
    errors: ['conflict', 'quota_exceeded'],
    bodyExample: {
      name: 'On call',
      url: 'https://hooks.example/tocsin',
      selector: { matchLabels: { app: 'shop' } },
      externalId: 'on-call',
      source: 'platform/monitors',
    },
  },
  createChannelInDashboard: {
    endpoint: 'POST /api/dashboard/channels',
    access: 'member',
    description:
      'The response contains the secret that signs its webhooks. A URL that webhooks may not reach is refused.',
    body: createChannelSchema,
    bodyExample: { name: 'On call', url: 'https://hooks.example/tocsin', monitorIds: [MONITOR.id] },
    errors: ['quota_exceeded'],
  },
});

const dashboardRoutes = defineRoutes(
  { tag, access: 'member' },
  {
    updateMonitorChannels: {
      endpoint: 'PATCH /api/dashboard/monitors/:id/channels',
      summary: 'Change the channels that list a monitor',
      description:
        'In one transaction. A channel that lists the monitor already, or does not list it, stays as it is.',
      resource: 'monitor',
      body: monitorChannelsSchema,
      bodyExample: { add: [CHANNEL.id] },
      errors: ['quota_exceeded'],
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
  },
);

export const channelRoutes = { ...withDashboard(sharedRoutes), ...creationRoutes, ...dashboardRoutes };
