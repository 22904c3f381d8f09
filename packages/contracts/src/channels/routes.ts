import { z } from 'zod';
import { channelTestSchema } from '../deliveries/delivery.ts';
import { ATTEMPT, CHANNEL, SECRET } from '../routes/examples.ts';
import {
  CONDITIONAL,
  CREATE,
  defineRoutes,
  DELETE,
  noFields,
  READ,
  READ_BY_EXTERNAL_ID,
  UPDATE,
  withDashboard,
} from '../routes/route.ts';
import {
  channelPreviewSchema,
  channelPreviewsSchema,
  channelSchema,
  channelSecretSchema,
  channelsQuerySchema,
  createChannelSchema,
  listedChannelSchema,
  monitorChannelsSchema,
  updateChannelSchema,
} from './channel.ts';

const tag = 'Channels';
const resource = 'channel';
const response = z.strictObject({ channel: channelSchema });
const returned = { response, responseExample: { channel: CHANNEL } };

const sharedRoutes = defineRoutes(
  { tag, access: 'write key' },
  {
    listChannels: {
      endpoint: 'GET /api/cli/channels',
      access: 'key',
      summary: 'List channels',
      description: 'Newest first.',
      query: channelsQuerySchema,
      response: z.strictObject({ channels: z.array(listedChannelSchema) }),
      responseExample: { channels: [{ ...CHANNEL, etag: '"Tq3v0yEu"' }] },
    },
    createChannel: {
      ...CREATE,
      endpoint: 'POST /api/cli/channels',
      summary: 'Create a channel',
      description:
        'The response contains the secret that signs its webhooks, which no other response to a key shows, except a repeated one. A URL that webhooks may not reach is refused. A key that is bound to sources may only create channels of these sources.',
      body: createChannelSchema,
      bodyExample: {
        name: 'On call',
        url: 'https://hooks.example/tocsin',
        selector: { matchLabels: { app: 'shop' } },
        externalId: 'on-call',
        source: 'platform/monitors',
      },
      response: response.extend({ secret: channelSecretSchema }),
      responseExample: { channel: CHANNEL, secret: SECRET },
      showsSecret: true,
    },
    getChannel: {
      ...READ,
      endpoint: 'GET /api/cli/channels/:id',
      summary: 'Get a channel',
      resource,
      ...returned,
    },
    getChannelByExternalId: {
      ...READ_BY_EXTERNAL_ID,
      endpoint: 'GET /api/cli/channels/by-external-id/:externalId',
      summary: 'Get a channel by its externalId',
      ...returned,
    },
    updateChannel: {
      ...UPDATE,
      endpoint: 'PUT /api/cli/channels/:id',
      summary: 'Update a channel',
      description:
        'Changes only the fields given. `enabled: false` holds the deliveries that are due. `enabled: true` sends new webhooks again; held deliveries wait until they are redelivered.',
      resource,
      body: updateChannelSchema,
      bodyExample: { enabled: true },
      ...returned,
    },
    deleteChannel: {
      ...DELETE,
      endpoint: 'DELETE /api/cli/channels/:id',
      summary: 'Delete a channel',
      description: 'Deletes its deliveries too.',
      resource,
    },
    rotateChannelSecret: {
      ...CONDITIONAL,
      access: 'owner key',
      responseHeaders: ['ETag'],
      endpoint: 'POST /api/cli/channels/:id/rotate-secret',
      summary: 'Rotate the secret of a channel',
      description:
        'Webhooks are also signed with the previous secret for 24 hours, or until the next rotation, so send `If-Match` if you may repeat the request.',
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
      endpoint: 'POST /api/cli/channels/:id/test',
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
    previewChannel: {
      endpoint: 'POST /api/dashboard/channels/preview',
      summary: 'Preview the webhooks of a format',
      description: 'Renders each webhook event with sample values. An invalid template is a 400.',
      body: channelPreviewSchema,
      bodyExample: { format: 'slack' },
      response: channelPreviewsSchema,
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
  },
);

export const channelRoutes = { ...withDashboard(sharedRoutes), ...dashboardRoutes };
