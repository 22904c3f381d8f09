import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { MONITORS } from '../testing/monitors.ts';
import { openTestApi, type TestApi } from '../testing/test-api.ts';

let api: TestApi;
beforeAll(async () => {
  api = await openTestApi({ settings: { rateLimitPerMinute: 5 } });
});
afterAll(() => api.close());

describe('the rate limit', () => {
  test('applies per key: 429 with Retry-After and RateLimit headers, before any other check', async () => {
    const { key } = await api.newKey('read,write');
    for (let index = 0; index < 5; index += 1) {
      const response = await api.as(key).get(MONITORS);
      expect(response.status).toBe(200);
      expect(response.headers['ratelimit']).toContain(`r=${4 - index}`);
      expect(response.headers['ratelimit-policy']).toContain('q=5');
    }
    const response = await api.as(key).put(`${MONITORS}/no-id`).type('text').send('{');
    expect(response.status).toBe(429);
    expect(response.body).toMatchObject({
      type: 'urn:tocsin:problem:rate-limited',
      instance: response.headers['x-request-id'],
    });
    const wait = Number(response.headers['retry-after']);
    expect(wait).toBeGreaterThan(0);
    expect(wait).toBeLessThanOrEqual(60);
    expect(response.headers['ratelimit']).toContain('r=0');
    expect((await api.as().get(MONITORS)).status).toBe(200);
  });

  test('counts nothing without a valid key, so that others cannot use up the share of a key', async () => {
    const { key } = await api.newKey('read,write');
    for (let index = 0; index < 10; index += 1) {
      expect((await api.as(null).get(MONITORS)).status).toBe(401);
      expect((await api.as(`tocsin_live_${'a'.repeat(48)}`).get(MONITORS)).status).toBe(401);
    }
    expect((await api.as(key).get(MONITORS)).status).toBe(200);
  });

  test('is off when set to 0', async () => {
    const free = await openTestApi();
    try {
      const responses = await Promise.all(Array.from({ length: 20 }, () => free.as().get(MONITORS)));
      expect(new Set(responses.map(({ status }) => status))).toEqual(new Set([200]));
      expect(responses[0]?.headers).not.toHaveProperty('ratelimit');
    } finally {
      await free.close();
    }
  });
});
