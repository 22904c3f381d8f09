import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { generateApiKey } from '@tocsin/core/secrets/tokens';
import { deleteApiKey } from '@tocsin/db/api-keys/api-keys';
import { systemActor } from '@tocsin/db/audit-log/actor';
import { openDatabase } from '@tocsin/db/database/open';
import { MONITORS } from '../testing/monitors.ts';
import { openTestApi, type TestApi, useTestApi } from '../testing/test-api.ts';

const api = await useTestApi();

test('a request with an unknown, expired or deleted key: 401, before any other check', async () => {
  const expired = await api.newKey('read,write', new Date(Date.now() - 1));
  const deleted = await api.newKey('read,write');
  await deleteApiKey(api.context.db, systemActor(api.account.id), deleted.id);
  for (const key of [generateApiKey(), expired.key, deleted.key]) {
    const response = await api.as(key).put(`${MONITORS}/no-id`).type('text').send('{');
    expect(response.headers['www-authenticate']).toBe('Bearer error="invalid_token"');
    expect(response.body).toMatchObject({ status: 401, type: 'urn:tocsin:problem:unauthorized' });
  }
});

test.each([
  ['read, write', 201],
  ['read', 403],
  ['rewrite,read', 403],
])('the scope write is a whole word of the string %j: %d', async (scopes, status) => {
  const { key } = await api.newKey(scopes);
  const response = await api.as(key).post(MONITORS).send({ name: 'a', url: 'http://a.example' });
  expect(response.status).toBe(status);
});

describe('an API key', () => {
  test.each([
    ['', 401],
    ['Basic dXNlcjpwYXNz', 401],
    ['Bearer ', 401],
    ['Bearera KEY', 401],
    ['bEaReR  KEY ', 200],
  ])('is expected in a header such as %j: %d', async (text, status) => {
    const header = text.replace('KEY', api.account.key);
    const response = await api.as(null).get(MONITORS).set('Authorization', header);
    expect(response.status).toBe(status);
    if (status === 401) expect(response.headers['www-authenticate']).toBe('Bearer');
  });

  test('is not accepted in the query or in another case', async () => {
    const query = await api.as(null).get(`${MONITORS}?api_key=${api.account.key}`);
    expect(query.status).toBe(401);
    const upper = api.account.key.slice(0, 12) + api.account.key.slice(12).toUpperCase();
    if (upper !== api.account.key) expect((await api.as(upper).get(MONITORS)).status).toBe(401);
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
    expect([response.status, response.headers['retry-after']]).toEqual([503, '5']);
    expect(response.text).not.toMatch(/ECONNREFUSED|127\.0\.0\.1|select/i);
  });
});

describe('the rate limit', () => {
  let limited: TestApi;
  beforeAll(async () => {
    limited = await openTestApi({ settings: { rateLimitPerMinute: 5 } });
  });
  afterAll(() => limited.close());

  test('applies per key: 429 with Retry-After and RateLimit headers, before any other check', async () => {
    const { key } = await limited.newKey('read,write');
    for (let index = 0; index < 5; index += 1) {
      const { status, headers } = await limited.as(key).get(MONITORS);
      expect([status, headers['ratelimit']]).toEqual([200, expect.stringContaining(`r=${4 - index}`)]);
      expect(headers['ratelimit-policy']).toContain('q=5');
    }
    const response = await limited.as(key).put(`${MONITORS}/no-id`).type('text').send('{');
    expect(response.body).toMatchObject({ status: 429, type: 'urn:tocsin:problem:rate-limited' });
    const wait = Number(response.headers['retry-after']);
    expect(wait).toBeGreaterThan(0);
    expect(wait).toBeLessThanOrEqual(60);
    expect(response.headers['ratelimit']).toContain('r=0');
    expect((await limited.as().get(MONITORS)).status).toBe(200);
  });

  test('counts nothing without a valid key, so that others cannot use up the share of a key', async () => {
    const { key } = await limited.newKey('read,write');
    for (let index = 0; index < 6; index += 1) {
      expect((await limited.as(null).get(MONITORS)).status).toBe(401);
      expect((await limited.as(`tocsin_live_${'a'.repeat(48)}`).get(MONITORS)).status).toBe(401);
    }
    expect((await limited.as(key).get(MONITORS)).status).toBe(200);
  });
});
