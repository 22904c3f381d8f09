import { randomUUID } from 'node:crypto';
import { createApiKey } from '@tocsin/db/api-keys/api-keys';
import { systemActor, userActor } from '@tocsin/db/audit-log/actor';
import { createInvitation } from '@tocsin/db/users/invitations';
import { until } from '@tocsin/embedded/testing/until';
import type TestAgent from 'supertest/lib/agent.js';
import { goDown, newChannel } from './channels.ts';
import { newMonitor, recordCheck, recordResponse } from './monitors.ts';
import { newUser } from './sign-in.ts';
import type { TestApi } from './test-api.ts';

/** A resource of `api.account`. */
export interface Resource {
  readonly id: string;
  /** Part of its fields, and the `externalId` of a monitor; no response to another account may contain it. */
  readonly marker: string;
}

/** Part of the header values and bodies of monitors; no response to a key without the scope `write` may contain it. */
export const SECRET = 's3cret-of-a-check';

type Kind = keyof typeof MAKE;

export interface AccessRow {
  /** What `:id` identifies, and what the lists contain. */
  readonly kind: Kind;
  readonly body?: (resource: Resource) => object;
  /** With its question mark. */
  readonly query?: (resource: Resource) => string;
  /** The status for another account. Default: 404 for a path with a parameter, otherwise that of success. */
  readonly statusForOther?: number;
  /** Whether only the author of the resource may do it, which is the owner. */
  readonly isForAuthor?: true;
  /** Whether the response never ends, so that only its beginning is checked. */
  readonly isEndless?: true;
}

/** Creates a resource of a kind. @param owner signed in to `api.account` */
export async function makeResource(api: TestApi, owner: TestAgent, kind: Kind): Promise<Resource> {
  const marker = `mark-${randomUUID()}`;
  return { id: await MAKE[kind](api, owner, marker), marker };
}

type Make = (api: TestApi, owner: TestAgent, marker: string) => Promise<string>;

const MAKE = {
  monitor: async (api, _owner, name) => {
    const secrets = { method: 'POST', headers: { A: SECRET }, body: SECRET };
    return (await newMonitor(api, { name, url: `https://${name}.example`, externalId: name, ...secrets })).id;
  },
  event: async (api, owner, name) => {
    const id: string = await MAKE.monitor(api, owner, name);
    await recordCheck(api, id);
    // A tail returns an event a millisecond after its timestamp.
    const isPast =
      "select from monitors where id = $1 and last_timestamp < clock_timestamp() - interval '2 ms'";
    await until(
      'a millisecond to pass',
      async () => (await api.database.pool.query(isPast, [id])).rowCount === 1,
    );
    return id;
  },
  response: async (api, owner, name) => {
    const id: string = await MAKE.monitor(api, owner, name);
    await recordResponse(api, id, `${name} ${SECRET}`);
    return id;
  },
  apiKey: async (api, _owner, name) => {
    const { apiKey } = await createApiKey(api.context.db, systemActor(api.account.id), { name });
    return apiKey.id;
  },
  user: async (api, _owner, marker) => (await newUser(api, { email: `${marker}@example.com` })).id,
  invitation: async (api, _owner, marker) => {
    const { id: createdBy } = await newUser(api);
    const { invitation } = await createInvitation(
      api.context.db,
      userActor(api.account.id, createdBy, 'Owner'),
      {
        role: 'member',
        email: `${marker}@example.com`,
      },
    );
    return invitation.id;
  },
  channel: async (_api, owner, name) => {
    const url = `https://hooks.invalid/${name}`;
    return (await newChannel(owner, { name, url, allMonitors: false })).channel.id;
  },
  delivery: async (api, owner, name) => {
    const { id } = await newMonitor(api, { name });
    await newChannel(owner, { name, allMonitors: false, monitorIds: [id] });
    const [deliveryId = ''] = await goDown(api, id);
    return deliveryId;
  },
  incident: async (api, owner, name) => {
    await MAKE.delivery(api, owner, name);
    const { rows } = await api.database.pool.query<{ id: string }>(
      'select i.id from incidents i join monitors m on m.id = i.monitor_id where m.name = $1',
      [name],
    );
    return rows[0]?.id ?? '';
  },
  /** A note of the owner, with the id of its incident. */
  note: async (api, owner, name) => {
    const id: string = await MAKE.incident(api, owner, name);
    await owner.post(`/api/dashboard/incidents/${id}/notes`).send({ text: name });
    await api.database.pool.query('update incident_notes set id = $1 where incident_id = $1', [id]);
    return id;
  },
  maintenanceWindow: async (api, owner, name) => {
    const { id } = await newMonitor(api, { name });
    const response = await owner.post('/api/dashboard/maintenance-windows').send(windowOf(name, id));
    return (response.body as { maintenanceWindow: { id: string } }).maintenanceWindow.id;
  },
} satisfies Record<string, Make>;

function scheduleOf(monitorId: string): object {
  const at = (hours: number): string => new Date(Date.now() + hours * 3_600_000).toISOString();
  return { startsAt: at(1), endsAt: at(2), monitorIds: [monitorId] };
}

const windowOf = (name: string, monitorId: string): object => ({ name, ...scheduleOf(monitorId) });
const monitorBody = (): object => ({ name: 'New', url: 'https://new.example' });
const rename = (): object => ({ name: 'Renamed' });

/** The monitors API has two roots. */
function monitorRows(base: string): Record<string, AccessRow> {
  return {
    [`GET ${base}`]: { kind: 'monitor' },
    [`POST ${base}`]: { kind: 'monitor', body: monitorBody },
    [`GET ${base}/:id`]: { kind: 'monitor' },
    [`PUT ${base}/:id`]: { kind: 'monitor', body: rename },
    [`DELETE ${base}/:id`]: { kind: 'monitor' },
    [`POST ${base}/:id/trigger`]: { kind: 'monitor' },
    [`GET ${base}/:id/events`]: { kind: 'monitor' },
    [`GET ${base}/:id/events/:timestamp/response`]: { kind: 'response' },
  };
}

/** Channels have two roots, too. */
function channelRows(base: string): Record<string, AccessRow> {
  return {
    [`GET ${base}`]: { kind: 'channel' },
    [`POST ${base}`]: {
      kind: 'channel',
      body: () => ({ name: 'New', url: 'https://hooks.invalid/new', monitorIds: [] }),
    },
    [`GET ${base}/:id`]: { kind: 'channel' },
    [`PATCH ${base}/:id`]: { kind: 'channel', body: rename },
    [`DELETE ${base}/:id`]: { kind: 'channel' },
  };
}

const D = '/api/dashboard';

/** Requests to each restricted route. A route without a row fails `access-matrix.test.ts`. */
export const ACCESS_ROWS: Readonly<Record<string, AccessRow>> = {
  ...monitorRows('/api/cli/monitors'),
  ...monitorRows(`${D}/monitors`),
  'GET /api/cli/monitors/by-external-id/:externalId': { kind: 'monitor' },
  'GET /api/cli/events': {
    kind: 'event',
    query: () => `?since=${Buffer.from(`${Date.now() - 3_600_000} `).toString('base64url')}`,
  },
  'GET /api/cli/metrics': { kind: 'monitor' },
  'PUT /api/cli/monitors': {
    kind: 'monitor',
    body: () => ({ source: 'new', monitors: [], channels: [] }),
  },
  [`GET ${D}/overview`]: { kind: 'monitor' },
  [`GET ${D}/monitors/recent-checks`]: { kind: 'monitor', query: ({ id }) => `?monitorIds=${id}` },
  [`GET ${D}/monitors/latencies`]: { kind: 'monitor' },
  [`POST ${D}/monitors/labels`]: {
    kind: 'monitor',
    body: ({ id }) => ({ monitorIds: [id], set: { team: 'new' } }),
  },
  [`POST ${D}/monitors/delete`]: { kind: 'monitor', body: ({ id }) => ({ monitorIds: [id] }) },
  [`POST ${D}/monitors/check`]: { kind: 'monitor', body: ({ id }) => ({ monitorIds: [id] }) },
  [`POST ${D}/monitors/test`]: { kind: 'monitor', body: monitorBody },
  [`GET ${D}/monitors/:id/stats`]: { kind: 'monitor' },
  [`GET ${D}/monitors/:id/states`]: { kind: 'monitor' },
  [`GET ${D}/monitors/:id/regions`]: { kind: 'monitor' },
  [`GET ${D}/me`]: { kind: 'user' },
  [`GET ${D}/api-keys`]: { kind: 'apiKey' },
  [`POST ${D}/api-keys`]: { kind: 'apiKey', body: () => ({ name: 'New' }) },
  [`DELETE ${D}/api-keys/:id`]: { kind: 'apiKey' },
  [`GET ${D}/users`]: { kind: 'user' },
  [`PATCH ${D}/users/:id`]: { kind: 'user', body: () => ({ role: 'owner' }) },
  [`DELETE ${D}/users/:id`]: { kind: 'user' },
  [`GET ${D}/invitations`]: { kind: 'invitation' },
  [`POST ${D}/invitations`]: { kind: 'invitation', body: () => ({ role: 'member' }) },
  [`DELETE ${D}/invitations/:id`]: { kind: 'invitation' },
  ...channelRows('/api/cli/channels'),
  ...channelRows(`${D}/channels`),
  [`POST ${D}/channels/:id/monitors`]: {
    kind: 'channel',
    body: ({ id }) => ({ monitorIds: [id] }),
  },
  [`PATCH ${D}/monitors/:id/channels`]: { kind: 'monitor', body: () => ({ add: [], remove: [] }) },
  [`GET ${D}/channels/:id/secret`]: { kind: 'channel' },
  [`POST ${D}/channels/:id/rotate-secret`]: { kind: 'channel' },
  [`POST ${D}/channels/:id/test`]: { kind: 'channel' },
  [`GET ${D}/channels/:id/deliveries`]: { kind: 'channel' },
  [`POST ${D}/channels/:id/redeliver`]: {
    kind: 'channel',
    body: () => ({ since: '2026-01-01T00:00:00Z', until: '2026-01-02T00:00:00Z' }),
  },
  [`GET ${D}/channels/:id/held-deliveries`]: { kind: 'channel' },
  [`POST ${D}/channels/:id/held-deliveries/discard`]: { kind: 'channel' },
  [`GET ${D}/deliveries/:id`]: { kind: 'delivery' },
  [`POST ${D}/deliveries/:id/redeliver`]: { kind: 'delivery' },
  [`GET ${D}/incidents`]: { kind: 'incident' },
  [`GET ${D}/incidents/:id`]: { kind: 'incident' },
  [`GET ${D}/reports/availability`]: {
    kind: 'monitor',
    query: () => `?from=${new Date(Date.now() - 3_600_000).toISOString()}&to=${new Date().toISOString()}`,
  },
  [`PUT ${D}/incidents/:id/acknowledgement`]: { kind: 'incident', body: () => ({}) },
  [`DELETE ${D}/incidents/:id/acknowledgement`]: { kind: 'incident' },
  [`GET ${D}/incidents/:id/timeline`]: { kind: 'note' },
  [`POST ${D}/incidents/:id/notes`]: { kind: 'incident', body: () => ({ text: 'New' }) },
  [`PATCH ${D}/incidents/:id/notes/:noteId`]: {
    kind: 'note',
    body: () => ({ text: 'New' }),
    isForAuthor: true,
  },
  [`DELETE ${D}/incidents/:id/notes/:noteId`]: { kind: 'note', isForAuthor: true },
  'GET /api/cli/audit-log': { kind: 'monitor', query: () => '?limit=500' },
  [`GET ${D}/audit-log`]: { kind: 'monitor', query: ({ id }) => `?targetId=${id}` },
  [`GET ${D}/stream`]: { kind: 'monitor', isEndless: true },
  'GET /api/cli/regions': { kind: 'monitor' },
  [`GET ${D}/regions`]: { kind: 'monitor' },
  [`PUT ${D}/regions/:code`]: {
    kind: 'monitor',
    body: ({ id }) => ({ canaryMonitorIds: [id] }),
    statusForOther: 400,
  },
  'GET /api/cli/maintenance-windows': { kind: 'maintenanceWindow' },
  'POST /api/cli/maintenance-windows': {
    kind: 'monitor',
    body: ({ id }) => ({ name: 'New', durationSeconds: 60, monitorIds: [id] }),
    statusForOther: 400,
  },
  'GET /api/cli/maintenance-windows/:id': { kind: 'maintenanceWindow' },
  'DELETE /api/cli/maintenance-windows/:id': { kind: 'maintenanceWindow' },
  'POST /api/cli/maintenance-windows/:id/end': { kind: 'maintenanceWindow' },
  [`GET ${D}/maintenance-windows`]: { kind: 'maintenanceWindow' },
  [`POST ${D}/maintenance-windows`]: {
    kind: 'monitor',
    body: ({ id }) => windowOf('New', id),
    statusForOther: 400,
  },
  [`POST ${D}/maintenance-windows/preview`]: {
    kind: 'monitor',
    body: ({ id }) => scheduleOf(id),
  },
  [`GET ${D}/maintenance-windows/:id`]: { kind: 'maintenanceWindow' },
  [`PATCH ${D}/maintenance-windows/:id`]: { kind: 'maintenanceWindow', body: rename },
  [`DELETE ${D}/maintenance-windows/:id`]: { kind: 'maintenanceWindow' },
  [`POST ${D}/maintenance-windows/:id/end`]: { kind: 'maintenanceWindow' },
};
