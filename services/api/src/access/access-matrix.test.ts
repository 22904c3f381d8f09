import type { IncomingMessage } from 'node:http';
import { PassThrough } from 'node:stream';
import { expect, test } from '@jest/globals';
import { ACCOUNT_HEADER, USER_HEADER } from '@tocsin/contracts/identity/user-header';
import {
  changesAsKey,
  isForWriters,
  isRefusedToViewers,
  type Route,
  statusOf,
} from '@tocsin/contracts/routes/route';
import { API_ROUTES, byEndpoint } from '@tocsin/contracts/routes/routes';
import { deleteApiKey } from '@tocsin/db/api-keys/api-keys';
import { systemActor } from '@tocsin/db/audit-log/actor';
import { deleteUser } from '@tocsin/db/users/users';
import { createLogger } from '@tocsin/runtime/logger';
import type supertest from 'supertest';
import type TestAgent from 'supertest/lib/agent.js';
import {
  ACCESS_ROWS,
  type AccessRow,
  makeResource,
  RECEIVER,
  type Resource,
  SECRET,
} from '../testing/access-rows.ts';
import { attempt } from '../testing/fake-notifier.ts';
import { handleTrigger } from '../testing/handle-trigger.ts';
import { listRoutes } from '../testing/list-routes.ts';
import { RESPONSE_AT } from '../testing/monitors.ts';
import { browser, newSignedInUser, signIn, signInAsOperator } from '../testing/sign-in.ts';
import { OPERATOR_KEY, ORIGIN, type TestApi, useTestApi } from '../testing/test-api.ts';

let logged = '';
const stream = new PassThrough().on('data', (bytes) => (logged += String(bytes)));
const api: TestApi = await useTestApi({
  logger: createLogger({ service: 'api', level: 'debug', stream }),
  producers: {
    addTrigger: (region, { triggerId }) => handleTrigger(api.context, region, triggerId),
    addDeliveries: (ids) => attempt(api, ids, 204),
  },
  quotas: { monitors: 1_000, channels: 1_000, maintenanceWindows: 1_000, regions: 1_000, checksPerMinute: 0 },
});
const { db } = api.context;
const actor = systemActor(api.account.id);
const signedIn = await newSignedInUser(api);
// These users join other accounts on the way.
const inAccount = (agent: TestAgent): TestAgent => agent.set(ACCOUNT_HEADER, api.account.slug);
const owner = inAccount(signedIn.agent);
const member = inAccount(await signIn(api, { role: 'member' }));
const viewer = inAccount(await signIn(api, { role: 'viewer' }));
/** Manages accounts, and is a member of none. */
const operator = inAccount(await signInAsOperator(api));
const operatorKey = api.as(OPERATOR_KEY);
const otherUser = (await signIn(api, { accountId: api.other.id })).set(ACCOUNT_HEADER, api.other.slug);
/** A key with both scopes that may change only a source that no resource has. */
const bound = api.as((await api.newKey('read,write', null, ['elsewhere'])).key);
/** A page on another site that sends an owner's cookie. */
const otherSite = browser(api).set({ Cookie: signedIn.cookie, Origin: `${ORIGIN}.evil.example` });
const expired = await api.newKey('read,write', new Date(Date.now() - 1));
const deleted = await api.newKey('read,write');
await deleteApiKey(db, actor, deleted.id);
const [signedOut, removed] = [await newSignedInUser(api), await newSignedInUser(api)];
await browser(api).post('/api/auth/sign-out').set('Cookie', signedOut.cookie).send({});
await deleteUser(db, actor, removed.id);
const keys = { 'expired key': api.as(expired.key), 'deleted key': api.as(deleted.key) };
/** Callers without valid credentials, for the CLI and for the dashboard. */
const nobodies = {
  cli: { 'no key': api.as(null), session: owner, 'operator key': api.as(OPERATOR_KEY) },
  dashboard: {
    'no session': browser(api),
    'read key': api.as(api.account.readKey),
    'operator key': api.as(OPERATOR_KEY),
  },
  operator: { 'no session': browser(api), 'write key': api.as() },
};
/** Callers whose credentials are no longer valid, or belong to someone else. */
const rejectedInBrowsers = {
  ...keys,
  'session signed out': browser(api).set('Cookie', signedOut.cookie),
  'removed user': removed.agent,
  'page of another user': (await signIn(api)).set(USER_HEADER, removed.id),
};
const rejected = { cli: keys, dashboard: rejectedInBrowsers, operator: rejectedInBrowsers };

interface Received {
  readonly status: number;
  readonly text: string;
}

async function ask(agent: TestAgent, route: string, row: AccessRow, resource: Resource): Promise<Received> {
  const [method = '', pattern = ''] = route.split(' ');
  const parameters = pattern
    .replace(':id', resource.id)
    .replace(':externalId', resource.marker)
    .replace(':noteId', resource.id)
    .replace(':userId', resource.id)
    .replace(':timestamp', RESPONSE_AT)
    .replace(':code', /region|token/i.test(row.kind) ? resource.marker : 'default')
    .replace(':tokenId', resource.id);
  const path = parameters + (row.query?.(resource) ?? '');
  const request = agent[method.toLowerCase() as 'get' | 'post' | 'put' | 'patch' | 'delete'](path);
  if (row.isEndless) return request.buffer(true).parse(readBeginning);
  return row.body === undefined ? request : request.send(row.body(resource));
}

/** Reads only the first bytes of a response. */
function readBeginning(
  response: supertest.Response,
  done: (error: Error | null, body: unknown) => void,
): void {
  const incoming = response as unknown as IncomingMessage & { text: string };
  incoming.once('data', (bytes: Buffer) => {
    incoming.text = String(bytes);
    done(null, incoming.text);
    incoming.destroy();
  });
}

/** A hash of the configuration that keys may change. */
async function hashConfiguration(): Promise<unknown> {
  const tables = ['monitors', 'channels', 'channel_monitors', 'maintenance_windows'];
  const all = [
    ...tables,
    'maintenance_window_monitors',
    'triggers',
    'idempotency_keys',
    'agent_regions',
    'agent_tokens',
  ];
  const hashes = all.map((table) => `select md5(string_agg(t::text, '' order by t::text)) from ${table} t`);
  return (await api.database.pool.query(hashes.join(' union all '))).rows;
}

const ROUTES = byEndpoint(API_ROUTES);

/** @throws Error if the endpoint has no route in the contracts */
function routeAt(endpoint: string): Route {
  const route = ROUTES[endpoint];
  if (route === undefined) throw new Error(`no such route: ${endpoint}`);
  return route;
}

/** Listed a second time, to find a route that is open by mistake. better-auth guards its own routes. */
const OPEN_ROUTES = new Set([
  'GET /api/cli/openapi.json',
  'GET /schemas/tocsin.json',
  'GET /healthz',
  'GET /readyz',
  'GET /metrics',
  'GET /api/dashboard/sign-in-methods',
  'POST /api/dashboard/invitations/check',
  'POST /api/dashboard/invitations/accept',
]);

test('every route is implemented, and only these are open', () => {
  const ours = listRoutes(api.context).filter((route) => !/^\w+ \/api\/auth\//.test(route));
  const isOpen = (route: string): boolean => routeAt(route).access === 'anyone';
  expect(new Set(ours.filter(isOpen))).toEqual(OPEN_ROUTES);
  expect(ours.filter((route) => !isOpen(route)).sort()).toEqual(Object.keys(ACCESS_ROWS).sort());
});

/** A resource of each kind for the requests that change nothing. */
const unchanged = new Map<AccessRow['kind'], Promise<Resource>>();
function unchangedOf(kind: AccessRow['kind']): Promise<Resource> {
  const resource = unchanged.get(kind) ?? makeResource(api, owner, kind);
  unchanged.set(kind, resource);
  return resource;
}

let turn = 0;
/** All routes under a root share one guard, so each route is called by only one of the rejected callers, in turn. */
function nextRejected(root: keyof typeof rejected): [who: string, agent: TestAgent] {
  const callers = Object.entries(rejected[root]);
  turn += 1;
  return callers[turn % callers.length] as [string, TestAgent];
}

test.each(Object.entries(ACCESS_ROWS))('%s', async (route, row) => {
  const root = (/^\w+ \/api\/(\w+)/.exec(route)?.[1] ?? '') as keyof typeof nobodies;
  const isCli = root === 'cli';
  const isRead = route.startsWith('GET');
  const declared = routeAt(route);
  const { access } = declared;
  const ok = statusOf(declared);
  const resource = await unchangedOf(row.kind);
  const needsWriteScope =
    isForWriters(declared) || (declared.requiresWriteScope?.({ ...row.body?.(resource) }) ?? false);
  const [expected, statuses]: [Record<string, number>, Record<string, number>] = [{}, {}];
  const outcome = async (
    who: string,
    agent: TestAgent,
    status: number,
    target = resource,
  ): Promise<string> => {
    const received = await ask(agent, route, row, target);
    expected[who] = status;
    statuses[who] = received.status;
    return received.text;
  };
  const showsNothing = (text: string): void => {
    expect(text).not.toContain(resource.marker);
    expect(text).not.toContain(resource.id);
  };

  for (const [who, agent] of [...Object.entries(nobodies[root]), nextRejected(root)])
    showsNothing(await outcome(who, agent, 401));

  const stranger = isCli ? api.as(api.other.key) : otherUser;
  const forStranger = row.statusForOther ?? (route.includes('/:') ? 404 : ok);
  const shown = await outcome('other account', stranger, access === 'operator' ? 403 : forStranger);
  // An error message may repeat the id of the request.
  if (row.statusForOther === undefined) showsNothing(shown);
  else expect(shown).not.toContain(resource.marker);

  if (isCli) {
    const isRefused = needsWriteScope && changesAsKey(declared);
    const before = await hashConfiguration();
    const text = await outcome('key bound to another source', bound, isRefused ? 403 : ok);
    if (isRefused) {
      expect(JSON.parse(text)).toMatchObject({ type: 'urn:tocsin:problem:source-not-allowed' });
      expect(await hashConfiguration()).toEqual(before);
    }
  } else if (!isRead) await outcome('page of another site', otherSite, 403);

  const fresh = () => (isRead ? resource : makeResource(api, owner, row.kind));
  /** Asks as a caller with fewer rights, who is refused without any effect. */
  const askAs = async (who: string, agent: TestAgent, isAllowed: boolean, refusal = 403): Promise<string> => {
    const text = await outcome(who, agent, isAllowed ? ok : refusal, isAllowed ? await fresh() : resource);
    if (!isAllowed) showsNothing(text);
    return text;
  };
  if (isCli) {
    const seen = await askAs('read key', api.as(api.account.readKey), !needsWriteScope);
    expect(seen).not.toContain(SECRET);
  } else {
    const isForMembers = access === 'member' && row.isForAuthor !== true;
    const seen = await askAs(
      'viewer',
      viewer,
      access === 'user' || (isForMembers && !isRefusedToViewers(declared)),
    );
    for (const secret of [SECRET, RECEIVER]) expect(seen).not.toContain(secret);
    await askAs('member', member, access === 'user' || isForMembers);
    const isInAccount = access === 'member' || access === 'owner';
    await askAs('operator', operator, !isInAccount, 404);
    if (access === 'operator') await askAs('operator key', operatorKey, true);
  }

  const last = await fresh();
  const mayDo = access !== 'operator';
  const most = isCli ? api.as() : mayDo ? owner : operator;
  const text = await outcome('most rights', most, ok, last);
  if (!mayDo) await outcome('owner', owner, 403);
  // Proves that the absence of the id from other responses means something.
  const showsId =
    /^GET \/api\/\w+\/(?!me|regions|stream)[a-z-]+(\/:id|\/recent-checks|\/by-external-id.*)?$/.test(route);
  if (showsId && access !== 'user') expect(text).toContain(last.id);
  expect(statuses).toEqual(expected);
});

test('no log line, audit entry, stored result, channel or delivery contains a secret', async () => {
  const tables = ['audit_log', 'idempotency_keys', 'channels', 'deliveries', 'attempts'];
  const texts = tables.map((table) => `select string_agg(t::text, '') as text from ${table} t`);
  const { rows } = await api.database.pool.query<{ text: string }>(texts.join(' union all '));
  const text = rows.map((row) => row.text).join('') + logged;
  expect(/routing_key\W+\(secret\)/.test(text)).toBe(true);
  // The text is too long for a message.
  expect(text.includes(SECRET)).toBe(false);
});
