import { afterAll, describe, expect, test } from '@jest/globals';
import type { ApiKey } from '@tocsin/contracts/api-keys/api-key';
import { API_KEY_PATTERN } from '@tocsin/contracts/limits';
import { ensureApiKey, writeLastUsed } from '@tocsin/db/api-keys/api-keys';
import { systemActor } from '@tocsin/db/audit-log/actor';
import { until } from '@tocsin/embedded/testing/until';
import { createSilentLogger } from '@tocsin/runtime/logger';
import { captureLog } from '@tocsin/runtime/testing/captured-log';
import { MONITORS } from '../testing/monitors.ts';
import { newSignedInUser, signIn } from '../testing/sign-in.ts';
import { openTestApi, type TestApi } from '../testing/test-api.ts';
import { createLastUsedRecorder } from './last-used.ts';

const KEYS = '/api/dashboard/api-keys';

const api: TestApi = await openTestApi({ lastUsed: { note: (id) => lastUsed.note(id) } });
const lastUsed = createLastUsedRecorder(
  (times) => writeLastUsed(api.context.db, times),
  createSilentLogger(),
  50,
);
const user = await newSignedInUser(api, { role: 'member' });
const { agent } = user;
afterAll(async () => {
  await lastUsed.stop();
  await api.close();
});

async function list(): Promise<ApiKey[]> {
  return ((await agent.get(KEYS)).body as { apiKeys: ApiKey[] }).apiKeys;
}

interface Created {
  readonly apiKey: ApiKey;
  readonly key: string;
}

async function create(body: object = { name: 'CI' }): Promise<Created> {
  const response = await agent.post(KEYS).send(body);
  if (response.status !== 201) throw new Error(response.text);
  expect(response.headers['location']).toMatch(/^\/api\/dashboard\/api-keys\/[0-9a-f-]{36}$/);
  return response.body as Created;
}

describe('API keys', () => {
  test('are shown once', async () => {
    const { apiKey, key } = await create({ name: 'CI' });
    expect(apiKey).toMatchObject({
      name: 'CI',
      scopes: 'read,write',
      sources: null,
      expiresAt: null,
      lastUsedAt: null,
      createdBy: { id: user.id, name: 'Test user', email: null, removed: false },
    });
    expect(key).toMatch(API_KEY_PATTERN);
    expect((await agent.get(KEYS)).text).not.toContain(key);
    expect((await list())[0]).toEqual(apiKey);
  });

  test('have the requested scopes and sources', async () => {
    const { apiKey, key } = await create({ name: 'Pipeline', scopes: 'write', sources: ['shop'] });
    expect(apiKey).toMatchObject({ scopes: 'write', sources: ['shop'] });
    for (const [source, status] of [
      ['shop', 201],
      ['other', 403],
    ] as const) {
      const monitor = { name: 'Shop', url: 'https://shop.example', source };
      expect((await api.as(key).post(MONITORS).send(monitor)).status).toBe(status);
    }
  });

  test("show their creator's address only to owners, in the dashboard", async () => {
    const { apiKey } = await create();
    const owner = await signIn(api);
    const { body } = await owner.get(KEYS);
    const createdBy = { id: user.id, name: 'Test user', email: user.email, removed: false };
    expect((body as { apiKeys: ApiKey[] }).apiKeys[0]).toEqual({ ...apiKey, createdBy });
    expect((await agent.get(KEYS)).text).not.toContain('@');
    const { id } = await api.newKey('read');
    expect(await list()).toContainEqual(expect.objectContaining({ id, createdBy: null }));
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
    [{ name: ' ' }, 'name'],
    [{ name: 'a', expiresAt: '2020-01-01T00:00:00Z' }, 'expiresAt'],
    [{ name: 'a', sources: ['shop', '*/shop'] }, 'sources.1'],
  ])('%j: 400 with the field', async (body, path) => {
    const response = await agent.post(KEYS).send(body);
    expect([response.status, response.body]).toMatchObject([400, { errors: [{ path }] }]);
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
});

test('the recorder of uses logs a failure once, keeps unwritten uses, and never rejects', async () => {
  const written: string[] = [];
  let failures = 0;
  const write = async (batch: ReadonlyMap<string, Date>): Promise<void> => {
    if (failures === 3) return void written.push(...batch.keys());
    failures += 1;
    throw new Error('the database is unavailable');
  };
  const { logger, text } = captureLog();
  const recorder = createLastUsedRecorder(write, logger, 10);
  recorder.note('a');
  await until('two failures', () => failures >= 2);
  recorder.note('b');
  await until('both keys are written', () => written.length === 2);
  await recorder.stop();
  expect(written.toSorted()).toEqual(['a', 'b']);
  expect(text().match(/Could not record/g)).toHaveLength(1);
});

test('lastUsedAt is recorded soon after a use, even if the response is an error, but not for an expired key', async () => {
  const used = await create();
  const unused = await create();
  const expired = await create();
  await api.database.pool.query('update api_keys set expires_at = now() where id = $1', [expired.apiKey.id]);
  const before = Date.now();
  expect((await api.as(used.key).get(`${MONITORS}/no-id`)).status).toBe(404);
  expect((await api.as(expired.key).get(MONITORS)).status).toBe(401);
  const lastUsedAt = async ({ apiKey }: Created): Promise<string | null | undefined> =>
    (await list()).find(({ id }) => id === apiKey.id)?.lastUsedAt;
  const at = await until('the use is recorded', () => lastUsedAt(used));
  expect(Date.parse(at)).toBeGreaterThanOrEqual(before);
  await lastUsed.stop();
  expect([await lastUsedAt(unused), await lastUsedAt(expired)]).toEqual([null, null]);
});
