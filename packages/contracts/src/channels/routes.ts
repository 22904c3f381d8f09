import { z } from 'zod';
import { channelTestSchema } from '../deliveries/delivery.ts';
import { ATTEMPT, CHANNEL, MONITOR, SECRET } from '../routes/examples.ts';
import { defineRoutes, noFields } from '../routes/route.ts';
import {
  channelSchema,
  channelSecretSchema,
  createChannelSchema,
  createCliChannelSchema,
  monitorChannelsSchema,
  updateChannelSchema,
} from './channel.ts';

const common = { tag: 'Channels', access: 'member' } as const;
const resource = 'channel';
const response = z.strictObject({ channel: channelSchema });

const list = {
  summary: 'List channels',
  description: 'Newest first.',
  response: z.strictObject({ channels: z.array(channelSchema) }),
  responseExample: { channels: [CHANNEL] },
} as const;

const get = {
  summary: 'Get a channel',
  resource,
  response,
  responseExample: { channel: CHANNEL },
} as const;

const create = {
  summary: 'Create a channel',
  status: 201,
  response: z.strictObject({ channel: channelSchema, secret: channelSecretSchema }),
  responseExample: { channel: CHANNEL, secret: SECRET },
  showsSecret: true,
  responseHeaders: ['Location'],
} as const;

const update = {
  summary: 'Update a channel',
  description:
    'Changes only the fields given. `enabled: false` holds the deliveries that are due. `enabled: true` sends new webhooks again; held deliveries wait until they are redelivered.',
  resource,
  body: updateChannelSchema,
  bodyExample: { enabled: true },
  response,
  responseExample: { channel: CHANNEL },
  errors: ['conflict', 'quota_exceeded'],
} as const;

const remove = {
  summary: 'Delete a channel',
  description: 'Deletes its deliveries too.',
  resource,
} as const;

/** The channels for programs, with the same rules as in the dashboard. */
export const cliChannelRoutes = defineRoutes(
  { tag: 'Channels', access: 'write key' },
  {
    listCliChannels: { ...list, endpoint: 'GET /api/cli/channels', access: 'key' },
    createCliChannel: {
      ...create,
      endpoint: 'POST /api/cli/channels',
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
    getCliChannel: { ...get, endpoint: 'GET /api/cli/channels/:id', access: 'key' },
    updateCliChannel: { ...update, endpoint: 'PATCH /api/cli/channels/:id' },
    deleteCliChannel: { ...remove, endpoint: 'DELETE /api/cli/channels/:id' },
  },
);

export const channelRoutes = defineRoutes(common, {
  listChannels: { ...list, endpoint: 'GET /api/dashboard/channels' },
  createChannel: {
    ...create,
    endpoint: 'POST /api/dashboard/channels',
    description:
      'The response contains the secret that signs its webhooks. A URL that webhooks may not reach is refused.',
    body: createChannelSchema,
    bodyExample: { name: 'On call', url: 'https://hooks.example/tocsin', monitorIds: [MONITOR.id] },
    errors: ['quota_exceeded'],
  },
  getChannel: { ...get, endpoint: 'GET /api/dashboard/channels/:id' },
  updateChannel: { ...update, endpoint: 'PATCH /api/dashboard/channels/:id' },
  deleteChannel: { ...remove, endpoint: 'DELETE /api/dashboard/channels/:id' },
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
});
