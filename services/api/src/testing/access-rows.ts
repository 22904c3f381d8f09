import { randomUUID } from 'node:crypto';
import { createInvitation } from '@tocsin/db/invitations/create-invitation';
import { createApiKey } from '@tocsin/db/api-keys/create-api-key';
import type TestAgent from 'supertest/lib/agent.js';
import { goDown, newChannel } from './channels.ts';
import { newMonitor } from './monitors.ts';
import { newUser } from './sign-in.ts';
import type { TestApi } from './test-api.ts';

/** A thing of `api.account`. */
export interface Resource {
  readonly id: string;
  /** Stands in its fields; no answer to a stranger may show it. */
  readonly marker: string;
}

type Kind = keyof typeof MAKE;

export interface AccessRow {
  /** What `:id` names, and what the lists hold. */
  readonly kind: Kind;
  readonly needs: 'any key' | 'write key' | 'member' | 'owner';
  /** The status for who may. */
  readonly ok: number;
  readonly body?: (resource: Resource) => object;
  /** With its question mark. */
  readonly query?: (resource: Resource) => string;
  /** The status for another account, where it is not 404 with an `:id` and `ok` without. */
  readonly foreign?: number;
  /** The answer has no end: its beginning is looked at. */
  readonly isEndless?: true;
}

/** Makes one of each kind. @param owner signed in to `api.account` */
export async function makeResource(api: TestApi, owner: TestAgent, kind: Kind): Promise<Resource> {
  const marker = `mark-${randomUUID()}`;
  return { id: await MAKE[kind](api, owner, marker), marker };
}

type Make = (api: TestApi, owner: TestAgent, marker: string) => Promise<string>;

const MAKE = {
  monitor: async (api, _owner, name) => (await newMonitor(api, { name, url: `https://${name}.example` })).id,
  apiKey: async (api, _owner, name) => {
    const { apiKey } = await createApiKey(api.context.db, { accountId: api.account.id, name });
    return apiKey.id;
  },
  user: async (api, _owner, marker) => (await newUser(api, { email: `${marker}@example.com` })).id,
  invitation: async (api, _owner, marker) => {
    const { id: createdBy } = await newUser(api);
    const { invitation } = await createInvitation(api.context.db, {
      accountId: api.account.id,
      role: 'member',
      email: `${marker}@example.com`,
      createdBy,
    });
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
  maintenanceWindow: async (api, owner, name) => {
    const { id } = await newMonitor(api, { name });
    const response = await owner.post('/api/dashboard/maintenance-windows').send(windowOf(name, id));
    return (response.body as { maintenanceWindow: { id: string } }).maintenanceWindow.id;
  },
} satisfies Record<string, Make>;

function windowOf(name: string, monitorId: string): object {
  const at = (hours: number): string => new Date(Date.now() + hours * 3_600_000).toISOString();
  return { name, startsAt: at(1), endsAt: at(2), monitorIds: [monitorId] };
}

const monitorBody = (): object => ({ name: 'New', url: 'https://new.example' });
const rename = (): object => ({ name: 'Renamed' });

/** The monitors API stands under two roots. */
function monitorRows(
  base: string,
  read: AccessRow['needs'],
  write: AccessRow['needs'],
): Record<string, AccessRow> {
  return {
    [`GET ${base}`]: { kind: 'monitor', needs: read, ok: 200 },
    [`POST ${base}`]: { kind: 'monitor', needs: write, ok: 201, body: monitorBody },
    [`GET ${base}/:id`]: { kind: 'monitor', needs: read, ok: 200 },
    [`PUT ${base}/:id`]: { kind: 'monitor', needs: write, ok: 200, body: rename },
    [`DELETE ${base}/:id`]: { kind: 'monitor', needs: write, ok: 204 },
    [`POST ${base}/:id/trigger`]: { kind: 'monitor', needs: read, ok: 200 },
    [`GET ${base}/:id/events`]: { kind: 'monitor', needs: read, ok: 200 },
  };
}

const D = '/api/dashboard';

/** Who may do what: every route behind a key or a session has a row here, or `access-matrix.test.ts` fails. */
export const ACCESS_ROWS: Readonly<Record<string, AccessRow>> = {
  ...monitorRows('/api/cli/monitors', 'any key', 'write key'),
  ...monitorRows(`${D}/monitors`, 'member', 'member'),
  [`GET ${D}/monitors/recent-checks`]: {
    kind: 'monitor',
    needs: 'member',
    ok: 200,
    query: ({ id }) => `?monitorIds=${id}`,
  },
  [`GET ${D}/monitors/:id/stats`]: { kind: 'monitor', needs: 'member', ok: 200 },
  [`GET ${D}/monitors/:id/regions`]: { kind: 'monitor', needs: 'member', ok: 200 },
  [`GET ${D}/me`]: { kind: 'user', needs: 'member', ok: 200 },
  [`GET ${D}/api-keys`]: { kind: 'apiKey', needs: 'member', ok: 200 },
  [`POST ${D}/api-keys`]: { kind: 'apiKey', needs: 'member', ok: 201, body: () => ({ name: 'New' }) },
  [`DELETE ${D}/api-keys/:id`]: { kind: 'apiKey', needs: 'member', ok: 204 },
  [`GET ${D}/users`]: { kind: 'user', needs: 'owner', ok: 200 },
  [`PATCH ${D}/users/:id`]: { kind: 'user', needs: 'owner', ok: 200, body: () => ({ role: 'owner' }) },
  [`DELETE ${D}/users/:id`]: { kind: 'user', needs: 'owner', ok: 204 },
  [`GET ${D}/invitations`]: { kind: 'invitation', needs: 'owner', ok: 200 },
  [`POST ${D}/invitations`]: {
    kind: 'invitation',
    needs: 'owner',
    ok: 201,
    body: () => ({ role: 'member' }),
  },
  [`DELETE ${D}/invitations/:id`]: { kind: 'invitation', needs: 'owner', ok: 204 },
  [`GET ${D}/channels`]: { kind: 'channel', needs: 'member', ok: 200 },
  [`POST ${D}/channels`]: {
    kind: 'channel',
    needs: 'member',
    ok: 201,
    body: () => ({ name: 'New', url: 'https://hooks.invalid/new', monitorIds: [] }),
  },
  [`GET ${D}/channels/:id`]: { kind: 'channel', needs: 'member', ok: 200 },
  [`PATCH ${D}/channels/:id`]: { kind: 'channel', needs: 'member', ok: 200, body: rename },
  [`DELETE ${D}/channels/:id`]: { kind: 'channel', needs: 'member', ok: 204 },
  [`GET ${D}/channels/:id/secret`]: { kind: 'channel', needs: 'owner', ok: 200 },
  [`POST ${D}/channels/:id/rotate-secret`]: { kind: 'channel', needs: 'owner', ok: 200 },
  [`POST ${D}/channels/:id/test`]: { kind: 'channel', needs: 'member', ok: 200 },
  [`GET ${D}/channels/:id/deliveries`]: { kind: 'channel', needs: 'member', ok: 200 },
  [`POST ${D}/channels/:id/redeliver`]: {
    kind: 'channel',
    needs: 'member',
    ok: 202,
    body: () => ({ since: '2026-01-01T00:00:00Z', until: '2026-01-02T00:00:00Z' }),
  },
  [`GET ${D}/deliveries/:id`]: { kind: 'delivery', needs: 'member', ok: 200 },
  [`POST ${D}/deliveries/:id/redeliver`]: { kind: 'delivery', needs: 'member', ok: 202 },
  [`GET ${D}/incidents`]: { kind: 'incident', needs: 'member', ok: 200 },
  [`GET ${D}/incidents/:id`]: { kind: 'incident', needs: 'member', ok: 200 },
  [`GET ${D}/stream`]: { kind: 'monitor', needs: 'member', ok: 200, isEndless: true },
  [`GET ${D}/regions`]: { kind: 'monitor', needs: 'member', ok: 200 },
  [`GET ${D}/maintenance-windows`]: { kind: 'maintenanceWindow', needs: 'member', ok: 200 },
  [`POST ${D}/maintenance-windows`]: {
    kind: 'monitor',
    needs: 'member',
    ok: 201,
    body: ({ id }) => windowOf('New', id),
    foreign: 400,
  },
  [`GET ${D}/maintenance-windows/:id`]: { kind: 'maintenanceWindow', needs: 'member', ok: 200 },
  [`PATCH ${D}/maintenance-windows/:id`]: {
    kind: 'maintenanceWindow',
    needs: 'member',
    ok: 200,
    body: rename,
  },
  [`DELETE ${D}/maintenance-windows/:id`]: { kind: 'maintenanceWindow', needs: 'member', ok: 204 },
};

/** Routes that need neither key nor session; better-auth guards its own. */
export const OPEN_ROUTES: ReadonlySet<string> = new Set([
  'GET /healthz',
  'GET /readyz',
  'GET /metrics',
  `GET ${D}/sign-in-methods`,
  `POST ${D}/invitations/accept`,
]);
