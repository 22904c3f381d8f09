import { createApiKeySchema } from '@tocsin/contracts/api-key';
import { channelSchema, createChannelSchema, updateChannelSchema } from '@tocsin/contracts/channel';
import {
  channelTestSchema,
  deliveriesQuerySchema,
  deliveryDetailSchema,
  deliverySchema,
  redeliverySchema,
} from '@tocsin/contracts/channel-delivery';
import { eventSchema } from '@tocsin/contracts/event';
import { eventsQuerySchema } from '@tocsin/contracts/events-query';
import { httpUrl } from '@tocsin/contracts/http-url';
import { incidentSchema, incidentsQuerySchema } from '@tocsin/contracts/incident';
import {
  createMaintenanceWindowSchema,
  listedMaintenanceWindowSchema,
  maintenanceWindowSchema,
  maintenanceWindowsQuerySchema,
  updateMaintenanceWindowSchema,
} from '@tocsin/contracts/maintenance-window';
import { createMonitorSchema, monitorSchema, updateMonitorSchema } from '@tocsin/contracts/monitor';
import { monitorRegionSchema } from '@tocsin/contracts/monitor-region';
import { monitorStatsSchema, statsQuerySchema } from '@tocsin/contracts/monitor-stats';
import { recentChecksQuerySchema, recentChecksSchema } from '@tocsin/contracts/recent-checks';
import { regionSchema } from '@tocsin/contracts/region';
import { acceptInvitationSchema, createInvitationSchema, updateUserSchema } from '@tocsin/contracts/user';
import { z } from 'zod';
import { accountRecord, apiKeyRecord, invitationRecord, userRecord } from './records.ts';
import type { Route } from './route.ts';

const D = '/api/dashboard';
const nothing = z.strictObject({});
const one = (name: string, schema: z.ZodType): z.ZodType => z.strictObject({ [name]: schema });
const many = (name: string, schema: z.ZodType): z.ZodType => one(name, z.array(schema));

const secret = z.string().regex(/^whsec_/);
const triggerSchema = z.strictObject({ url: httpUrl.nullable().optional() });

/** The monitors API stands under two roots. */
function monitorRoutes(base: string, read: Route['needs'], write: Route['needs']): Record<string, Route> {
  const kind = 'monitor';
  return {
    [`GET ${base}`]: { needs: read, ok: 200, answer: many('monitors', monitorSchema) },
    [`POST ${base}`]: {
      needs: write,
      body: createMonitorSchema,
      ok: 201,
      answer: one('monitor', monitorSchema),
      refusals: [400, 409],
      weight: 30,
    },
    [`GET ${base}/:id`]: {
      kind,
      needs: read,
      ok: 200,
      answer: z.strictObject({ monitor: monitorSchema, events: z.array(eventSchema).max(10) }),
    },
    [`PUT ${base}/:id`]: {
      kind,
      needs: write,
      body: updateMonitorSchema,
      ok: 200,
      answer: one('monitor', monitorSchema),
      refusals: [400, 409],
      weight: 30,
    },
    [`DELETE ${base}/:id`]: { kind, needs: write, ok: 204, answer: null },
    [`POST ${base}/:id/trigger`]: {
      kind,
      needs: read,
      body: triggerSchema,
      ok: 200,
      answer: one('event', eventSchema),
      weight: 4,
    },
    [`GET ${base}/:id/events`]: {
      kind,
      needs: read,
      query: eventsQuerySchema,
      ok: 200,
      answer: one('events', z.array(eventSchema).max(500)),
    },
  };
}

const channelRoutes: Record<string, Route> = {
  [`GET ${D}/channels`]: { needs: 'member', ok: 200, answer: many('channels', channelSchema) },
  [`POST ${D}/channels`]: {
    needs: 'member',
    body: createChannelSchema,
    ok: 201,
    answer: z.strictObject({ channel: channelSchema, secret }),
    refusals: [400],
    showsSecret: true,
    weight: 20,
  },
  [`GET ${D}/channels/:id`]: {
    kind: 'channel',
    needs: 'member',
    ok: 200,
    answer: one('channel', channelSchema),
  },
  [`PATCH ${D}/channels/:id`]: {
    kind: 'channel',
    needs: 'member',
    body: updateChannelSchema,
    ok: 200,
    answer: one('channel', channelSchema),
    refusals: [400],
    weight: 20,
  },
  [`DELETE ${D}/channels/:id`]: { kind: 'channel', needs: 'member', ok: 204, answer: null },
  [`GET ${D}/channels/:id/secret`]: {
    kind: 'channel',
    needs: 'owner',
    ok: 200,
    answer: one('secret', secret),
    showsSecret: true,
  },
  [`POST ${D}/channels/:id/rotate-secret`]: {
    kind: 'channel',
    needs: 'owner',
    body: nothing,
    ok: 200,
    answer: z.strictObject({ secret, previousSecretExpiresAt: z.iso.datetime() }),
    showsSecret: true,
  },
  [`POST ${D}/channels/:id/test`]: {
    kind: 'channel',
    needs: 'member',
    body: nothing,
    ok: 200,
    answer: channelTestSchema,
    weight: 3,
  },
  [`GET ${D}/channels/:id/deliveries`]: {
    kind: 'channel',
    needs: 'member',
    query: deliveriesQuerySchema,
    ok: 200,
    answer: many('deliveries', deliverySchema),
    refusals: [400],
  },
  [`POST ${D}/channels/:id/redeliver`]: {
    kind: 'channel',
    needs: 'member',
    body: redeliverySchema,
    ok: 202,
    answer: one('count', z.int().min(0)),
    refusals: [409],
  },
  [`GET ${D}/deliveries/:id`]: {
    kind: 'delivery',
    needs: 'member',
    ok: 200,
    answer: one('delivery', deliveryDetailSchema),
  },
  [`POST ${D}/deliveries/:id/redeliver`]: {
    kind: 'delivery',
    needs: 'member',
    body: nothing,
    ok: 202,
    answer: one('delivery', deliverySchema),
    refusals: [409],
  },
};

const peopleRoutes: Record<string, Route> = {
  [`GET ${D}/me`]: {
    needs: 'member',
    ok: 200,
    answer: z.strictObject({ user: userRecord, account: accountRecord }),
  },
  [`GET ${D}/users`]: { needs: 'owner', ok: 200, answer: many('users', userRecord) },
  [`PATCH ${D}/users/:id`]: {
    kind: 'user',
    needs: 'owner',
    body: updateUserSchema,
    ok: 200,
    answer: one('user', userRecord),
  },
  [`DELETE ${D}/users/:id`]: { kind: 'user', needs: 'owner', ok: 204, answer: null },
  [`GET ${D}/invitations`]: { needs: 'owner', ok: 200, answer: many('invitations', invitationRecord) },
  [`POST ${D}/invitations`]: {
    needs: 'owner',
    body: createInvitationSchema,
    ok: 201,
    answer: z.strictObject({ invitation: invitationRecord, token: z.string(), url: z.string() }),
    refusals: [409],
    showsSecret: true,
  },
  [`DELETE ${D}/invitations/:id`]: { kind: 'invitation', needs: 'owner', ok: 204, answer: null },
  [`GET ${D}/api-keys`]: { needs: 'member', ok: 200, answer: many('apiKeys', apiKeyRecord) },
  [`POST ${D}/api-keys`]: {
    needs: 'member',
    body: createApiKeySchema,
    ok: 201,
    answer: z.strictObject({ apiKey: apiKeyRecord, key: z.string().regex(/^tocsin_live_[0-9a-f]{48}$/) }),
    showsSecret: true,
  },
  [`DELETE ${D}/api-keys/:id`]: { kind: 'apiKey', needs: 'member', ok: 204, answer: null },
};

const otherRoutes: Record<string, Route> = {
  [`GET ${D}/monitors/recent-checks`]: {
    needs: 'member',
    query: recentChecksQuerySchema,
    ok: 200,
    answer: many('recentChecks', recentChecksSchema),
  },
  [`GET ${D}/monitors/:id/regions`]: {
    kind: 'monitor',
    needs: 'member',
    ok: 200,
    answer: many('regions', monitorRegionSchema),
  },
  [`GET ${D}/monitors/:id/stats`]: {
    kind: 'monitor',
    needs: 'member',
    query: statsQuerySchema,
    ok: 200,
    answer: one('stats', monitorStatsSchema),
    weight: 5,
  },
  [`GET ${D}/incidents`]: {
    needs: 'member',
    query: incidentsQuerySchema,
    ok: 200,
    answer: many('incidents', incidentSchema),
    refusals: [400],
  },
  [`GET ${D}/incidents/:id`]: {
    kind: 'incident',
    needs: 'member',
    ok: 200,
    answer: one('incident', incidentSchema),
  },
  [`GET ${D}/regions`]: { needs: 'member', ok: 200, answer: many('regions', regionSchema), weight: 5 },
  [`GET ${D}/stream`]: { needs: 'member', ok: 200, answer: 'stream', refusals: [400, 429], weight: 2 },
  [`GET ${D}/maintenance-windows`]: {
    needs: 'member',
    query: maintenanceWindowsQuerySchema,
    ok: 200,
    answer: many('maintenanceWindows', listedMaintenanceWindowSchema),
    refusals: [400],
  },
  [`POST ${D}/maintenance-windows`]: {
    needs: 'member',
    body: createMaintenanceWindowSchema,
    ok: 201,
    answer: one('maintenanceWindow', maintenanceWindowSchema),
    refusals: [400],
    weight: 20,
  },
  [`GET ${D}/maintenance-windows/:id`]: {
    kind: 'maintenanceWindow',
    needs: 'member',
    ok: 200,
    answer: one('maintenanceWindow', maintenanceWindowSchema),
  },
  [`PATCH ${D}/maintenance-windows/:id`]: {
    kind: 'maintenanceWindow',
    needs: 'member',
    body: updateMaintenanceWindowSchema,
    ok: 200,
    answer: one('maintenanceWindow', maintenanceWindowSchema),
    refusals: [400],
    weight: 20,
  },
  [`DELETE ${D}/maintenance-windows/:id`]: {
    kind: 'maintenanceWindow',
    needs: 'member',
    ok: 204,
    answer: null,
  },
};

const openRoutes: Record<string, Route> = {
  'GET /healthz': { needs: 'nobody', ok: 200, answer: 'any', weight: 1 },
  'GET /readyz': { needs: 'nobody', ok: 200, answer: 'any', weight: 1 },
  'GET /metrics': { needs: 'nobody', ok: 200, answer: 'text', weight: 1 },
  [`GET ${D}/sign-in-methods`]: {
    needs: 'nobody',
    ok: 200,
    answer: many('methods', z.literal(['password', 'oidc'])),
    weight: 3,
  },
  [`POST ${D}/invitations/accept`]: {
    needs: 'nobody',
    body: acceptInvitationSchema,
    ok: 201,
    answer: one('user', userRecord),
    refusals: [400, 404, 409, 410],
  },
};

/** Routes whose answers and errors are better-auth's: they are held to no schema of ours, and to no 5xx. */
export const AUTH_ROUTES: Readonly<Record<string, Route>> = {
  'POST /api/auth/sign-in/email': {
    needs: 'nobody',
    ok: 200,
    answer: 'any',
    body: z.object({ email: z.email(), password: z.string() }),
    weight: 5,
  },
  'POST /api/auth/sign-out': { needs: 'nobody', ok: 200, answer: 'any', body: z.object({}), weight: 3 },
  'GET /api/auth/get-session': { needs: 'nobody', ok: 200, answer: 'any', weight: 3 },
  'POST /api/auth/change-password': {
    needs: 'nobody',
    ok: 200,
    answer: 'any',
    body: z.object({
      currentPassword: z.string(),
      newPassword: z.string(),
      revokeOtherSessions: z.boolean().optional(),
    }),
    weight: 5,
  },
  'GET /api/auth/list-sessions': { needs: 'nobody', ok: 200, answer: 'any', weight: 2 },
  'POST /api/auth/revoke-session': {
    needs: 'nobody',
    ok: 200,
    answer: 'any',
    body: z.object({ token: z.string() }),
    weight: 3,
  },
  'POST /api/auth/revoke-other-sessions': {
    needs: 'nobody',
    ok: 200,
    answer: 'any',
    body: z.object({}),
    weight: 2,
  },
};

/** Every route with its schemas; `fuzz.test.ts` holds that none of the api's is missing. */
export const ROUTES: Readonly<Record<string, Route>> = {
  ...monitorRoutes('/api/cli/monitors', 'key', 'write key'),
  ...monitorRoutes(`${D}/monitors`, 'member', 'member'),
  ...channelRoutes,
  ...peopleRoutes,
  ...otherRoutes,
  ...openRoutes,
};
