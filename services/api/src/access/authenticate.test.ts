import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { generateApiKey } from '@tocsin/core/secrets/tokens';
import { deleteApiKey } from '@tocsin/db/api-keys/api-keys';
import { systemActor } from '@tocsin/db/audit-log/actor';
import { openDatabase } from '@tocsin/db/database/open';
import { MONITORS, newMonitor } from '../testing/monitors.ts';
import { openTestApi, type TestApi } from '../testing/test-api.ts';

let api: TestApi;
beforeAll(async () => {
  api = await openTestApi();
});
afterAll(() => api.close());

type Method = 'get' | 'post' | 'put' | 'delete';
const ROUTES: readonly (readonly [Method, string])[] = [
  ['get', MONITORS],
  ['post', MONITORS],
  ['get', `${MONITORS}/:id`],
  ['put', `${MONITORS}/:id`],
  ['delete', `${MONITORS}/:id`],
  ['post', `${MONITORS}/:id/trigger`],
  ['get', `${MONITORS}/:id/events`],
];
const pathOf = (path: string, id: string = randomUUID()): string => path.replace(':id', id);

describe.each(ROUTES)('%s %s', (method, path) => {
  test('without a key: 401 with a challenge', async () => {
    const response = await api.as(null)[method](pathOf(path));
    expect(response.status).toBe(401);
    expect(response.headers['www-authenticate']).toBe('Bearer');
    expect(response.type).toBe('application/problem+json');
  });

  test('with an unknown, expired or deleted key: 401, before any other check', async () => {
    const expired = await api.newKey('read,write', new Date(Date.now() - 1));
    const deleted = await api.newKey('read,write');
    await deleteApiKey(api.context.db, systemActor(api.account.id), deleted.id);
    for (const key of [generateApiKey(), expired.key, deleted.key]) {
      const request = api.as(key)[method](pathOf(path, 'no-id'));
      const response = await (method === 'get' ? request : request.type('text').send('{'));
      expect(response.status).toBe(401);
      expect(response.headers['www-authenticate']).toBe('Bearer error="invalid_token"');
      expect(response.body).toMatchObject({ status: 401, type: 'urn:tocsin:problem:unauthorized' });
    }
  });
});

describe('the scope write', () => {
  const writing = ROUTES.filter(([method, path]) => method !== 'get' && !path.endsWith('trigger'));
  test.each(writing)(
    "%s %s without it: 403 for any monitor, including other accounts' and unknown ones",
    async (method, path) => {
      const own = await newMonitor(api);
      const othersMonitor = await newMonitor(api, {}, api.other.key);
      for (const id of [own.id, othersMonitor.id, randomUUID(), 'no-id']) {
        const response = await api.as(api.account.readKey)[method](pathOf(path, id)).send({ name: 5 });
        expect(response.status).toBe(403);
        expect(response.body).toMatchObject({ type: 'urn:tocsin:problem:forbidden' });
      }
      const after = await api.as().get(`${MONITORS}/${own.id}`);
      expect(after.body).toMatchObject({ monitor: own });
    },
  );

  test('is not required to read', async () => {
    const { id } = await newMonitor(api);
    for (const path of [MONITORS, `${MONITORS}/${id}`, `${MONITORS}/${id}/events`]) {
      expect((await api.as(api.account.readKey).get(path)).status).toBe(200);
    }
  });

  test.each([
    ['read, write', 201],
    ['write', 201],
    ['read', 403],
    ['', 403],
    ['rewrite,read', 403],
    ['WRITE', 403],
  ])('is a whole word of the string %j: %d', async (scopes, status) => {
    const { key } = await api.newKey(scopes);
    const response = await api.as(key).post(MONITORS).send({ name: 'a', url: 'http://a.example' });
    expect(response.status).toBe(status);
  });
});

describe('API keys', () => {
  test.each(['bearer', 'BEARER', 'Bearer', 'bEaReR'])('the scheme %s is accepted', async (scheme) => {
    const response = await api.as(null).get(MONITORS).set('Authorization', `${scheme}  ${api.account.key} `);
    expect(response.status).toBe(200);
  });

  test.each(['Basic dXNlcjpwYXNz', 'Bearer', 'Bearer ', 'Token x', 'Bearera b'])(
    '%j is not a Bearer key',
    async (header) => {
      const response = await api.as(null).get(MONITORS).set('Authorization', header);
      expect(response.status).toBe(401);
      expect(response.headers['www-authenticate']).toBe('Bearer');
    },
  );

  test('a key in the query or in another case is not accepted', async () => {
    const query = await api.as(null).get(`${MONITORS}?api_key=${api.account.key}`);
    expect(query.status).toBe(401);
    const upper = api.account.key.slice(0, 12) + api.account.key.slice(12).toUpperCase();
    if (upper !== api.account.key) expect((await api.as(upper).get(MONITORS)).status).toBe(401);
  });

  test('a deleted key stops working with the next request, even on an open connection', async () => {
    const { id, key } = await api.newKey('read,write');
    const agent = api.as(key);
    expect((await agent.get(MONITORS)).status).toBe(200);
    await deleteApiKey(api.context.db, systemActor(api.account.id), id);
    expect((await agent.get(MONITORS)).status).toBe(401);
  });

  test('a key without an expiry works, and another one works until its expiry', async () => {
    const { key } = await api.newKey('read,write', new Date(Date.now() + 3_600_000));
    expect((await api.as(key).get(MONITORS)).status).toBe(200);
    await api.database.pool.query(`update api_keys set expires_at = now() where name = 'test'`);
    expect((await api.as(key).get(MONITORS)).status).toBe(401);
  });
});

describe('without a database', () => {
  let dark: TestApi;
  beforeAll(async () => {
    const unreachable = openDatabase({
      url: 'postgres://nobody@127.0.0.1:1/none',
      poolSize: 1,
      applicationName: 'test',
      onIdleError: () => undefined,
    });
    dark = await openTestApi({ db: unreachable.db });
  });
  afterAll(() => dark.close());

  test('a token with another format than a key is refused without a query', async () => {
    expect((await dark.as('tocsin_live_123').get(MONITORS)).status).toBe(401);
    expect((await dark.as(`other_live_${'a'.repeat(48)}`).get(MONITORS)).status).toBe(401);
  });

  test('a key that cannot be looked up: 503 without the cause', async () => {
    const response = await dark.as(generateApiKey()).get(MONITORS);
    expect(response.status).toBe(503);
    expect(response.headers['retry-after']).toBe('5');
    expect(response.text).not.toMatch(/ECONNREFUSED|127\.0\.0\.1|select/i);
  });
});
