import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { ApiKey } from '@tocsin/contracts/api-keys/api-key';
import { API_KEY_PATTERN } from '@tocsin/contracts/limits';
import { ensureApiKey, touchApiKeys } from '@tocsin/db/api-keys/api-keys';
import { systemActor } from '@tocsin/db/audit-log/actor';
import type TestAgent from 'supertest/lib/agent.js';
import { MONITORS } from '../testing/monitors.ts';
import { newSignedInUser, signIn, type TestUser } from '../testing/sign-in.ts';
import { openTestApi, type TestApi } from '../testing/test-api.ts';

const KEYS = '/api/dashboard/api-keys';

let api: TestApi;
let user: TestUser;
let agent: TestAgent;
beforeAll(async () => {
  api = await openTestApi();
  user = await newSignedInUser(api, { role: 'member' });
  ({ agent } = user);
});
afterAll(() => api.close());

async function list(): Promise<ApiKey[]> {
  return ((await agent.get(KEYS)).body as { apiKeys: ApiKey[] }).apiKeys;
}

async function create(body: object = { name: 'CI' }): Promise<{ apiKey: ApiKey; key: string }> {
  const response = await agent.post(KEYS).send(body);
  if (response.status !== 201) throw new Error(response.text);
  expect(response.headers['location']).toMatch(/^\/api\/dashboard\/api-keys\/[0-9a-f-]{36}$/);
  return response.body as { apiKey: ApiKey; key: string };
}

describe('API keys', () => {
  test('are shown once, work at once, and may read and write', async () => {
    const { apiKey, key } = await create({ name: ' CI ' });
    expect(apiKey).toEqual({
      id: expect.any(String),
      name: 'CI',
      scopes: 'read,write',
      sources: null,
      expiresAt: null,
      lastUsedAt: null,
      createdBy: { id: user.id, name: 'Test user', email: null, removed: false },
      createdAt: expect.any(String),
    });
    expect(key).toMatch(API_KEY_PATTERN);
    const created = await api.as(key).post(MONITORS).send({ name: 'a', url: 'https://a.example' });
    expect(created.status).toBe(201);
    const response = await agent.get(KEYS);
    expect(response.text).not.toContain(key);
    expect((await list())[0]).toEqual(apiKey);
  });

  test.each([
    [{ scopes: 'read' }, { scopes: 'read', sources: null }, [200, 403, 403]],
    [{ scopes: 'write' }, { scopes: 'write', sources: null }, [200, 201, 201]],
    [{ sources: null }, { scopes: 'read,write', sources: null }, [200, 201, 201]],
    [{ sources: [' shop '] }, { scopes: 'read,write', sources: ['shop'] }, [200, 201, 403]],
    [{ sources: ['blog', 'shop*'] }, { scopes: 'read,write', sources: ['blog', 'shop*'] }, [200, 201, 403]],
    [{ scopes: 'read', sources: ['shop'] }, { scopes: 'read', sources: ['shop'] }, [200, 403, 403]],
  ])('%j: may do this only, and say so', async (fields, expected, statuses) => {
    const { apiKey, key } = await create({ name: 'Pipeline', ...fields });
    expect(apiKey).toMatchObject(expected);
    expect((await list())[0]).toEqual(apiKey);
    const monitor = { name: 'Shop', url: 'https://shop.example' };
    const responses = [
      await api.as(key).get(MONITORS),
      await api
        .as(key)
        .post(MONITORS)
        .send({ ...monitor, source: 'shop' }),
      await api
        .as(key)
        .post(MONITORS)
        .send({ ...monitor, source: 'other' }),
    ];
    expect(responses.map(({ status }) => status)).toEqual(statuses);
  });

  test('show the address of their creator to owners only', async () => {
    const { apiKey } = await create();
    const owner = await signIn(api);
    const { body } = await owner.get(KEYS);
    const createdBy = { id: user.id, name: 'Test user', email: user.email, removed: false };
    expect((body as { apiKeys: ApiKey[] }).apiKeys[0]).toEqual({ ...apiKey, createdBy });
    expect((await agent.get(KEYS)).text).not.toContain('@');
  });

  test('have no creator if they were not created in the dashboard', async () => {
    const { id } = await api.newKey('read');
    expect(await list()).toContainEqual(expect.objectContaining({ id, createdBy: null }));
  });

  test('show when they were last used', async () => {
    const { apiKey } = await create();
    const used = new Date();
    await touchApiKeys(api.context.db, new Map([[apiKey.id, used]]));
    expect((await list())[0]).toEqual({ ...apiKey, lastUsedAt: used.toISOString() });
  });

  test('expire as requested', async () => {
    const expiresAt = new Date(Date.now() + 3_600_000);
    const { apiKey, key } = await create({
      name: 'hour',
      expiresAt: expiresAt.toISOString().replace('Z', '+00:00'),
    });
    expect(apiKey.expiresAt).toBe(expiresAt.toISOString());
    expect((await api.as(key).get(MONITORS)).status).toBe(200);
    await api.database.pool.query('update api_keys set expires_at = now() where id = $1', [apiKey.id]);
    expect((await api.as(key).get(MONITORS)).status).toBe(401);
  });

  test.each([
    [{}, 'name'],
    [{ name: ' ' }, 'name'],
    [{ name: 'a', expiresAt: '2020-01-01T00:00:00Z' }, 'expiresAt'],
    [{ name: 'a', expiresAt: '2099-01-01T00:00:00' }, 'expiresAt'],
    [{ name: 'a', expiresAt: '2099-01-01' }, 'expiresAt'],
    [{ name: 'a', expiresAt: 4_070_908_800 }, 'expiresAt'],
    [{ name: 'a', expiresAt: '0000-01-01T00:00:00Z' }, 'expiresAt'],
    [{ name: 'a', expiresAt: '9999-12-31T23:59:59-23:59' }, 'expiresAt'],
    [{ name: 'a', scopes: 'admin' }, 'scopes'],
    [{ name: 'a', scopes: 'write,read' }, 'scopes'],
    [{ name: 'a', scopes: null }, 'scopes'],
    [{ name: 'a', sources: 'shop' }, 'sources'],
    [{ name: 'a', sources: [] }, 'sources'],
    [{ name: 'a', sources: [' '] }, 'sources.0'],
    [{ name: 'a', sources: ['shop', '*/shop'] }, 'sources.1'],
    [{ name: 'a', sources: ['shop', ' shop '] }, 'sources'],
    [{ name: 'a', sources: Array.from({ length: 101 }, (_, index) => `shop-${index}`) }, 'sources'],
    [{ name: 'a', scopes: 'read, write' }, 'scopes'],
  ])('%j: 400 with the field', async (body, path) => {
    const response = await agent.post(KEYS).send(body);
    expect(response.status).toBe(400);
    expect(response.body).toMatchObject({ errors: [{ path }] });
  });

  test('stop working permanently with the next request once deleted', async () => {
    const { apiKey, key } = await create();
    expect((await agent.delete(`${KEYS}/${apiKey.id}`)).status).toBe(204);
    expect((await api.as(key).get(MONITORS)).status).toBe(401);
    expect((await agent.delete(`${KEYS}/${apiKey.id}`)).status).toBe(404);
    expect(await list()).not.toContainEqual(expect.objectContaining({ id: apiKey.id }));
    const again = { name: 'again', key, scopes: 'read,write' } as const;
    expect(await ensureApiKey(api.context.db, systemActor(api.account.id), again)).toBe('refused');
  });

  test('of another account are not found and continue to work', async () => {
    const otherUser = await signIn(api, { accountId: api.other.id });
    const { apiKey, key } = await create();
    expect((await otherUser.delete(`${KEYS}/${apiKey.id}`)).status).toBe(404);
    expect((await otherUser.get(KEYS)).text).not.toContain(apiKey.id);
    expect((await api.as(key).get(MONITORS)).status).toBe(200);
  });
});
