import type { IncomingMessage } from 'node:http';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { USER_HEADER } from '@tocsin/contracts/identity/user-header';
import { changesAsKey, type Route, statusOf } from '@tocsin/contracts/routes/route';
import { API_ROUTES, byEndpoint } from '@tocsin/contracts/routes/routes';
import { deleteApiKey } from '@tocsin/db/api-keys/api-keys';
import { systemActor } from '@tocsin/db/audit-log/actor';
import { deleteUser } from '@tocsin/db/users/users';
import type { JobWorker } from '@tocsin/queue/job-worker';
import type supertest from 'supertest';
import type TestAgent from 'supertest/lib/agent.js';
import { ACCESS_ROWS, type AccessRow, makeResource, type Resource, SECRET } from '../testing/access-rows.ts';
import { startFakeChecker } from '../testing/fake-checker.ts';
import { RESPONSE_AT } from '../testing/monitors.ts';
import { attempt } from '../testing/fake-notifier.ts';
import { listRoutes } from '../testing/list-routes.ts';
import { browser, newSignedInUser, signIn } from '../testing/sign-in.ts';
import { openTestApi, ORIGIN, type TestApi } from '../testing/test-api.ts';
import { openTestQueue, type TestQueue } from '../testing/test-queue.ts';

let api: TestApi;
let queue: TestQueue;
let checker: JobWorker;
let owner: TestAgent;
let member: TestAgent;
/** A key with both scopes that may change only a source that no resource has. */
let bound: TestAgent;
let otherUser: TestAgent;
/** The cookie of an owner. */
let cookie: string;
/** Callers without valid credentials, for the CLI and for the dashboard. */
const nobodies: { cli: Record<string, TestAgent>; dashboard: Record<string, TestAgent> } = {
  cli: {},
  dashboard: {},
};

beforeAll(async () => {
  queue = await openTestQueue();
  const { producers } = queue;
  api = await openTestApi({
    producers: {
      addTrigger: async (region, trigger) => {
        // The checker gets an hour to start the trigger, so that it is never too late on a slow machine.
        for (const table of ['triggers', 'test_checks'])
          await api.database.pool.query(`update ${table} set not_after = now() + interval '1 hour'`);
        await producers.addTrigger(region, trigger);
      },
      addStatusChanges: () => Promise.resolve(),
      addDeliveries: (ids) => attempt(api, ids, 204),
    },
  });
  checker = startFakeChecker(queue.stores, api.context, 'default');
  ({ agent: owner, cookie } = await newSignedInUser(api));
  member = await signIn(api, { role: 'member' });
  otherUser = await signIn(api, { accountId: api.other.id });
  bound = api.as((await api.newKey('read,write', null, ['elsewhere'])).key);
  const expired = await api.newKey('read,write', new Date(Date.now() - 1));
  const deleted = await api.newKey('read,write');
  await deleteApiKey(api.context.db, systemActor(api.account.id), deleted.id);
  const [signedOut, removed] = [await newSignedInUser(api), await newSignedInUser(api)];
  await browser(api).post('/api/auth/sign-out').set('Cookie', signedOut.cookie).send({});
  await deleteUser(api.context.db, systemActor(api.account.id), removed.id);
  const keys = { 'an expired key': api.as(expired.key), 'a deleted key': api.as(deleted.key) };
  nobodies.cli = { ...keys, 'no key': api.as(null), 'a session': owner };
  nobodies.dashboard = {
    ...keys,
    'a read key': api.as(api.account.readKey),
    'no session': browser(api),
    'a session signed out': browser(api).set('Cookie', signedOut.cookie),
    'a removed user': removed.agent,
    'a page of another user': (await signIn(api)).set(USER_HEADER, removed.id),
  };
});
afterAll(async () => {
  await checker.close();
  await queue.close();
  await api.close();
});

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
    .replace(':timestamp', RESPONSE_AT)
    .replace(':code', 'default');
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
  const all = [...tables, 'maintenance_window_monitors', 'triggers', 'idempotency_keys'];
  const hashes = all.map((table) => `select md5(string_agg(t::text, '' order by t::text)) from ${table} t`);
  return (await api.database.pool.query(hashes.join(' union all '))).rows;
}

function expectNoData({ text }: Received, { id, marker }: Resource): void {
  expect(text).not.toContain(marker);
  expect(text).not.toContain(id);
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

test('every restricted route has a row, and every row a route', () => {
  const ours = listRoutes(api.context).filter((route) => !/^\w+ \/api\/auth\//.test(route));
  const isOpen = (route: string): boolean => routeAt(route).access === 'anyone';
  expect(new Set(ours.filter(isOpen))).toEqual(OPEN_ROUTES);
  expect(ours.filter((route) => !isOpen(route)).sort()).toEqual(Object.keys(ACCESS_ROWS).sort());
});

const rows = Object.entries(ACCESS_ROWS);

describe.each(rows)('%s', (route, row) => {
  const isCli = route.includes('/api/cli');
  const hasParameter = route.includes('/:');
  const declared = routeAt(route);
  const { access, requiresWriteScope } = declared;
  const ok = statusOf(declared);
  let resource: Resource;
  beforeAll(async () => {
    resource = await makeResource(api, owner, row.kind);
    expect(resource.id).toMatch(/^[0-9a-f-]{36}$/);
  });

  test('without authentication: 401 without data', async () => {
    for (const [who, agent] of Object.entries(isCli ? nobodies.cli : nobodies.dashboard)) {
      const response = await ask(agent, route, row, resource);
      expect([who, response.status]).toEqual([who, 401]);
      expectNoData(response, resource);
    }
  });

  test('for another account: 404 without data', async () => {
    const statusForOther = row.statusForOther ?? (hasParameter ? 404 : ok);
    const response = await ask(isCli ? api.as(api.other.key) : otherUser, route, row, resource);
    expect(response.status).toBe(statusForOther);
    // The message of an error may repeat the input.
    if (row.statusForOther === undefined) expectNoData(response, resource);
    else expect(response.text).not.toContain(resource.marker);
  });

  const writesIn = (given: Resource): boolean =>
    access === 'write key' || (requiresWriteScope?.({ ...row.body?.(given) }) ?? false);

  test('for a key bound to another source: success if it reads, else 403, and nothing is written', async () => {
    if (!isCli) return;
    const before = await hashConfiguration();
    const response = await ask(bound, route, row, resource);
    if (!writesIn(resource) || !changesAsKey(declared)) expect(response.status).toBe(ok);
    else {
      expect(JSON.parse(response.text)).toMatchObject({ type: 'urn:tocsin:problem:source-not-allowed' });
      expect(await hashConfiguration()).toEqual(before);
    }
  });

  test('for the account itself: success', async () => {
    const lesser = await ask(isCli ? api.as(api.account.readKey) : member, route, row, resource);
    if (isCli) expect(lesser.text).not.toContain(SECRET);
    const allowed = isCli ? !writesIn(resource) : access === 'member' && row.isForAuthor !== true;
    if (!allowed) {
      expect(lesser.status).toBe(403);
      expectNoData(lesser, resource);
    } else expect(lesser.status).toBe(ok);
    // The earlier request may have deleted it.
    const again = allowed ? await makeResource(api, owner, row.kind) : resource;
    const response = await ask(isCli ? api.as() : owner, route, row, again);
    expect(response.status).toBe(ok);
    // So that its absence from a response to another account means something.
    if (
      /^GET \/api\/\w+\/(?!me|regions|stream)[a-z-]+(\/:id|\/recent-checks|\/by-external-id.*)?$/.test(route)
    )
      expect(response.text).toContain(again.id);
  });

  test('from another site with a cookie: 403', async () => {
    if (isCli || route.startsWith('GET')) return;
    const agent = browser(api).set({ Cookie: cookie, Origin: `${ORIGIN}.evil.example` });
    expect((await ask(agent, route, row, resource)).status).toBe(403);
  });
});
