import { randomUUID } from 'node:crypto';
import type { Route } from '@tocsin/contracts/routes/route';
import { API_ROUTES } from '@tocsin/contracts/routes/routes';
import { createAgentRegion } from '@tocsin/db/agents/agent-regions';
import { createAgentToken } from '@tocsin/db/agents/agent-tokens';
import { createAccount } from '@tocsin/db/accounts/accounts';
import { createApiKey } from '@tocsin/db/api-keys/api-keys';
import { systemActor, userActor } from '@tocsin/db/audit-log/actor';
import { OPERATORS_ACCOUNT } from '@tocsin/db/audit-log/record-audit';
import { memberships, users } from '@tocsin/db/users/table';
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
  /** Its fields contain this text, and so does a monitor's `externalId`. No response to another account may contain it. */
  readonly marker: string;
}

/** Part of the header values, bodies and routing keys. No response to a key without the scope `write` may contain it. */
export const SECRET = 's3cret-of-a-check';

type Kind = keyof typeof MAKE;

export interface AccessRow {
  /** Resource of `:id` and of the lists. */
  readonly kind: Kind;
  readonly body?: (resource: Resource) => object;
  /** With its question mark. */
  readonly query?: (resource: Resource) => string;
  /** The status for another account. Default: 404 for a path with a parameter, otherwise that of success. */
  readonly statusForOther?: number;
  /** Only the author of the resource may do it, who is the owner. */
  readonly isForAuthor?: true;
  /** The response never ends, so only its beginning is checked. */
  readonly isEndless?: true;
}

/** Part of the URLs of channels. No response to a viewer may contain it. */
export const RECEIVER = 'p4th-of-a-receiver';

/** Tokens of invitations by their ids. */
const tokens = new Map<string, string>();

/** Creates a resource of a kind. @param owner signed in to `api.account` */
export async function makeResource(api: TestApi, owner: TestAgent, kind: Kind): Promise<Resource> {
  const marker = `mark-${randomUUID()}`;
  return { id: await MAKE[kind](api, owner, marker), marker };
}

const CHANNEL_SECRETS = { format: 'pagerduty', routingKey: SECRET, headers: { A: SECRET } };

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
  /** The code of a region is its marker. */
  agentRegion: async (api, _owner, code) => {
    const { db, secrets } = api.context;
    await createAgentRegion({ db, secrets }, systemActor(api.account.id), { code }, false);
    return code;
  },
  agentToken: async (api, owner, name) => {
    const code: string = await MAKE.agentRegion(api, owner, name);
    const actor = systemActor(api.account.id);
    return (await createAgentToken(api.context.db, actor, code, { name })).agentToken.id;
  },
  sharedRegion: async (api, _owner, code) => {
    const { db, secrets } = api.context;
    await createAgentRegion({ db, secrets }, OPERATOR, { code }, false);
    return code;
  },
  sharedToken: async (api, owner, name) => {
    const code: string = await MAKE.sharedRegion(api, owner, name);
    return (await createAgentToken(api.context.db, OPERATOR, code, { name })).agentToken.id;
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
  /** An invitation to an account of its own, which anyone may accept. */
  openInvitation: async (api) => {
    const { db } = api.context;
    const accountId = await createAccount(db, OPERATOR, { name: 'Elsewhere', slug: `s-${randomUUID()}` });
    const input = { role: 'viewer', email: null } as const;
    const { invitation, token } = await createInvitation(db, { ...OPERATOR, accountId }, input);
    tokens.set(invitation.id, token);
    return invitation.id;
  },
  /** An account whose only member has the id of the account and the address of an operator. */
  account: async (api, _owner, name) => {
    const { db } = api.context;
    const id = await createAccount(db, OPERATOR, { name });
    await makeUser(api, id, name);
    await db.insert(memberships).values({ accountId: id, userId: id, role: 'member' });
    return id;
  },
  operator: async (api, _owner, name) => {
    const id = randomUUID();
    await makeUser(api, id, name);
    return id;
  },
  channel: async (_api, owner, name) => {
    const url = `https://hooks.invalid/${RECEIVER}`;
    const fields = { name, url, allMonitors: false, externalId: name, ...CHANNEL_SECRETS };
    return (await newChannel(owner, fields)).channel.id;
  },
  delivery: async (api, owner, name) => {
    const { id } = await newMonitor(api, { name });
    await newChannel(owner, { name, allMonitors: false, monitorIds: [id], ...CHANNEL_SECRETS });
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
  /** A note by the owner, with the id of its incident. */
  note: async (api, owner, name) => {
    const id: string = await MAKE.incident(api, owner, name);
    await owner.post(`/api/dashboard/incidents/${id}/notes`).send({ text: name });
    await api.database.pool.query('update incident_notes set id = $1 where incident_id = $1', [id]);
    return id;
  },
  maintenanceWindow: async (api, owner, name) => {
    const { id } = await newMonitor(api, { name });
    const response = await owner
      .post('/api/dashboard/maintenance-windows')
      .send({ ...windowOf(name, id), externalId: name });
    return (response.body as { maintenanceWindow: { id: string } }).maintenanceWindow.id;
  },
} satisfies Record<string, Make>;

const OPERATOR = { ...systemActor(OPERATORS_ACCOUNT), isOperator: true };

async function makeUser(api: TestApi, id: string, name: string): Promise<void> {
  const email = `${name}@example.com`;
  await api.context.db.insert(users).values({ id, name, email, emailVerified: true, isOperator: true });
}

function scheduleOf(monitorId: string): object {
  const at = (hours: number): string => new Date(Date.now() + hours * 3_600_000).toISOString();
  return { startsAt: at(1), endsAt: at(2), monitorIds: [monitorId] };
}

const windowOf = (name: string, monitorId: string): object => ({ name, ...scheduleOf(monitorId) });
const monitorBody = (): object => ({ name: 'New', url: 'https://new.example' });
const rename = (): object => ({ name: 'Renamed' });

/** Resources of `:id` and of the lists below these paths. Other paths concern monitors. */
const KINDS: Readonly<Record<string, Kind>> = {
  accounts: 'account',
  operators: 'operator',
  me: 'user',
  users: 'user',
  'api-keys': 'apiKey',
  invitations: 'invitation',
  channels: 'channel',
  deliveries: 'delivery',
  incidents: 'incident',
  'maintenance-windows': 'maintenanceWindow',
};

const emailOf = ({ marker }: Resource): object => ({ email: `${marker}@example.com` });

const O = '/api/operator/';
const D = '/api/dashboard/';
const CLI = '/api/cli/';

/** Fields of requests by root and path, or by path for both roots. */
const REQUESTS: Readonly<Record<string, Partial<AccessRow>>> = {
  'POST monitors': { body: monitorBody },
  'PUT monitors/:id': { body: rename },
  'PUT monitors': { body: () => ({ source: 'new', monitors: [], channels: [] }) },
  'GET monitors/:id/events/:timestamp/response': { kind: 'response' },
  'GET monitors/recent-checks': { query: ({ id }) => `?monitorIds=${id}` },
  'POST monitors/labels': { body: ({ id }) => ({ monitorIds: [id], set: { team: 'new' } }) },
  'POST monitors/pause': { body: ({ id }) => ({ monitorIds: [id], enabled: false }) },
  'POST monitors/delete': { body: ({ id }) => ({ monitorIds: [id] }) },
  'POST monitors/check': { body: ({ id }) => ({ monitorIds: [id] }) },
  'POST monitors/test': { body: monitorBody },
  'PATCH monitors/:id/channels': { body: () => ({ add: [], remove: [] }) },
  'GET events': {
    kind: 'event',
    query: () => `?since=${Buffer.from(`${Date.now() - 3_600_000} `).toString('base64url')}`,
  },
  'POST invitations/join': { kind: 'openInvitation', body: ({ id }) => ({ token: tokens.get(id) }) },
  [`POST ${O}accounts`]: { body: () => ({ name: 'New', slug: `s-${randomUUID()}` }) },
  'PATCH accounts/:id': { body: rename },
  'DELETE accounts/:id': { query: ({ marker }) => `?confirm=${marker}` },
  'POST accounts/:id/api-keys': { body: () => ({ name: 'New' }) },
  'PUT accounts/:id/members': { body: (resource) => ({ ...emailOf(resource), role: 'viewer' }) },
  'PUT operators': { body: emailOf },
  [`GET ${O}audit-log`]: { kind: 'account', query: () => '?limit=500' },
  'POST api-keys': { body: () => ({ name: 'New' }) },
  'PATCH users/:id': { body: () => ({ role: 'owner' }) },
  'POST invitations': { body: () => ({ role: 'member' }) },
  'POST channels/preview': { body: () => ({ format: 'slack' }) },
  'POST channels': { body: () => ({ name: 'New', url: 'https://hooks.invalid/new', monitorIds: [] }) },
  'PATCH channels/:id': { body: rename },
  'POST channels/:id/monitors': { body: ({ id }) => ({ monitorIds: [id] }) },
  'POST channels/:id/redeliver': {
    body: () => ({ since: '2026-01-01T00:00:00Z', until: '2026-01-02T00:00:00Z' }),
  },
  'GET reports/availability': {
    query: () => `?from=${new Date(Date.now() - 3_600_000).toISOString()}&to=${new Date().toISOString()}`,
  },
  'PUT incidents/:id/acknowledgement': { body: () => ({}) },
  'GET incidents/:id/timeline': { kind: 'note' },
  'POST incidents/:id/notes': { body: () => ({ text: 'New' }) },
  'PATCH incidents/:id/notes/:noteId': { kind: 'note', body: () => ({ text: 'New' }), isForAuthor: true },
  'DELETE incidents/:id/notes/:noteId': { kind: 'note', isForAuthor: true },
  [`GET ${CLI}audit-log`]: { query: () => '?limit=500' },
  [`GET ${D}audit-log`]: { query: ({ id }) => `?targetId=${id}` },
  'GET stream': { isEndless: true },
  'POST regions': { kind: 'agentRegion', body: () => ({ code: `new-${randomUUID()}` }) },
  'DELETE regions/:code': { kind: 'agentRegion' },
  'GET regions/:code/agent-tokens': { kind: 'agentToken' },
  'POST regions/:code/agent-tokens': { kind: 'agentRegion', body: () => ({ name: 'New' }) },
  'DELETE regions/:code/agent-tokens/:tokenId': { kind: 'agentToken' },
  [`GET ${O}regions`]: { kind: 'sharedRegion' },
  [`POST ${O}regions`]: { kind: 'sharedRegion' },
  [`DELETE ${O}regions/:code`]: { kind: 'sharedRegion' },
  [`GET ${O}regions/:code/agent-tokens`]: { kind: 'sharedToken' },
  [`POST ${O}regions/:code/agent-tokens`]: { kind: 'sharedRegion' },
  [`DELETE ${O}regions/:code/agent-tokens/:tokenId`]: { kind: 'sharedToken' },
  'PUT regions/:code': { body: ({ id }) => ({ canaryMonitorIds: [id] }), statusForOther: 400 },
  [`POST ${CLI}maintenance-windows`]: {
    kind: 'monitor',
    body: ({ id }) => ({ name: 'New', durationSeconds: 60, monitorIds: [id] }),
    statusForOther: 400,
  },
  [`POST ${D}maintenance-windows`]: {
    kind: 'monitor',
    body: ({ id }) => windowOf('New', id),
    statusForOther: 400,
  },
  'POST maintenance-windows/preview': { kind: 'monitor', body: ({ id }) => scheduleOf(id) },
  'PATCH maintenance-windows/:id': { body: rename },
};

function rowOf(endpoint: string): AccessRow {
  const [, method = '', path = ''] = /^(\w+) \/api\/\w+\/(.+)$/.exec(endpoint) ?? [];
  const kind = KINDS[path.split('/')[0] ?? ''] ?? 'monitor';
  return { kind, ...REQUESTS[`${method} ${path}`], ...REQUESTS[endpoint] };
}

/** Requests to each restricted route. */
export const ACCESS_ROWS: Readonly<Record<string, AccessRow>> = Object.fromEntries(
  Object.values<Route>(API_ROUTES)
    .filter(({ access }) => access !== 'anyone')
    .map(({ endpoint }) => [endpoint, rowOf(endpoint)]),
);
