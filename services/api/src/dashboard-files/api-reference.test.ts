import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { openTestApi, type TestApi } from '../testing/test-api.ts';

let api: TestApi;
beforeAll(async () => {
  api = await openTestApi();
});
afterAll(() => api.close());

test('/docs loads scripts of this server only, with the policy of the dashboard', async () => {
  const page = await api.as(null).get('/docs');
  expect([page.status, page.type]).toEqual([200, 'text/html']);
  expect(page.headers['content-security-policy']).toContain("script-src 'self';");
  const scripts = [...page.text.matchAll(/<script src="([^"]+)"><\/script>/g)].map(([, path]) => path);
  expect(scripts).toEqual(['/docs/scalar.js', '/docs/start.js']);
  expect(page.text.match(/<script/g)).toHaveLength(2);
  for (const path of scripts) {
    const script = await api.as(null).get(String(path));
    expect([script.status, script.type]).toEqual([200, 'text/javascript']);
    expect(script.headers).toMatchObject({ 'cache-control': 'no-cache', 'content-encoding': 'gzip' });
    const { etag = '' } = script.headers as { etag?: string };
    const again = await api.as(null).get(String(path)).set('If-None-Match', etag);
    expect([again.status, again.text]).toEqual([304, '']);
  }
  expect((await api.as(null).get('/docs/start.js')).text).toContain('/api/cli/openapi.json');
});

test('other paths and methods are not found', async () => {
  expect((await api.as(null).get('/docs/other.js')).status).toBe(404);
  expect((await api.as(null).post('/docs').send({})).status).toBe(404);
});
