import { mkdir, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from '@jest/globals';
import { createTemporaryFolder } from '@tocsin/embedded/testing/temporary-folder';
import type supertest from 'supertest';
import { openTestApi, useTestApi } from '../testing/test-api.ts';

const PAGE = '<!doctype html><title>Tocsin</title>';
const SCRIPT = `export const text = '${'tocsin '.repeat(1_000)}';`;
/** As browsers request a page. */
const NAVIGATION = 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8';

const folder = await createTemporaryFolder();
await mkdir(join(folder.path, 'assets'));
await writeFile(join(folder.path, 'index.html'), PAGE);
await writeFile(join(folder.path, 'favicon.svg'), '<svg xmlns="http://www.w3.org/2000/svg"/>');
await writeFile(join(folder.path, 'assets', 'index-C0ffee.js'), SCRIPT);
const api = await useTestApi({ settings: { dashboardDir: folder.path } });
afterAll(() => folder.remove());

function get(path: string, headers: Record<string, string> = {}): supertest.Test {
  return api.as(null).get(path).set(headers);
}

describe('pages', () => {
  test.each(['/', '/monitors/0190a0c4?tab=events', '/apis', '/%zz'])(
    '%s: the page, which must be revalidated',
    async (path) => {
      const response = await get(path, { Accept: NAVIGATION });
      expect([response.status, response.type, response.text]).toEqual([200, 'text/html', PAGE]);
      expect(response.headers).toMatchObject({
        'cache-control': 'no-cache',
        etag: expect.stringMatching(/^W\/"[\w-]{43}"$/),
        vary: expect.stringContaining('Accept'),
      });
      expect((await api.as(null).head(path).set('Accept', NAVIGATION)).status).toBe(200);
    },
  );

  test('/ is served to every request, other paths only to requests that accept a page', async () => {
    expect((await get('/')).text).toBe(PAGE);
    for (const Accept of ['*/*', 'application/json', 'image/*']) {
      expect((await get('/', { Accept })).text).toBe(PAGE);
      const response = await get('/monitors', { Accept });
      expect([response.status, response.type]).toEqual([404, 'application/problem+json']);
    }
  });

  test('have an ETag that depends on every byte, not on size and time', async () => {
    const file = join(folder.path, 'index.html');
    const long = new Date('2020-01-01T00:00:00Z');
    await utimes(file, long, long);
    const { etag = '' } = (await get('/')).headers;
    const same = await get('/', { 'If-None-Match': etag });
    expect([same.status, same.text]).toEqual([304, '']);
    await writeFile(file, PAGE.toUpperCase());
    await utimes(file, long, long);
    try {
      const changed = await get('/', { 'If-None-Match': etag });
      expect([changed.status, changed.text]).toEqual([200, PAGE.toUpperCase()]);
    } finally {
      await writeFile(file, PAGE);
    }
  });

  test('load from this server only, and send no referrer', async () => {
    for (const path of ['/', '/assets/index-C0ffee.js', '/favicon.svg']) {
      const { headers } = await get(path);
      expect(headers['content-security-policy']?.split(';').sort()).toEqual([
        "base-uri 'none'",
        "connect-src 'self'",
        "default-src 'self'",
        "form-action 'self'",
        "frame-ancestors 'none'",
        "img-src 'self' data:",
        "object-src 'none'",
        "script-src 'self'",
        "style-src 'self' 'unsafe-inline'",
      ]);
      expect(headers).toMatchObject({
        'x-content-type-options': 'nosniff',
        'referrer-policy': 'same-origin',
        'x-request-id': expect.any(String),
      });
    }
  });
});

describe('files', () => {
  test('assets may be cached for a year, others are revalidated', async () => {
    const script = await get('/assets/index-C0ffee.js');
    expect([script.status, script.headers['content-type']]).toEqual([200, 'text/javascript; charset=utf-8']);
    expect(script.headers['cache-control']).toBe('public, max-age=31536000, immutable');
    const icon = await get('/favicon.svg');
    expect([icon.status, icon.type, icon.headers['cache-control']]).toEqual([
      200,
      'image/svg+xml',
      'no-cache',
    ]);
    expect((await get('/index.html')).headers['cache-control']).toBe('no-cache');
  });

  test.each([
    '/assets/index-0ld.js',
    '/assets/',
    '/assets/..%2f..%2fpackage.json',
    '/assets/%00',
    `/assets/${'a'.repeat(5_000)}`,
  ])('unknown file %#: 404 and no page', async (path) => {
    const response = await get(path, { Accept: NAVIGATION });
    expect([response.status, response.type]).toEqual([404, 'application/problem+json']);
    expect(response.headers['cache-control']).toBe('no-store');
  });

  test('are sent compressed if the client accepts it', async () => {
    const get = (encoding: string) =>
      api.as(null).get('/assets/index-C0ffee.js').set('Accept-Encoding', encoding);
    for (const encoding of ['br', 'gzip']) {
      const { headers } = await get(encoding);
      expect([headers['content-encoding'], headers['vary']]).toEqual([encoding, 'Accept-Encoding']);
    }
    const plain = await get('identity');
    expect([plain.headers['content-encoding'], plain.text]).toEqual([undefined, SCRIPT]);
  });
});

describe('paths of the API', () => {
  test.each(['/api', '/API', '/api/cli/nothing', '/api/dashboard/nothing', '/metrics/nothing'])(
    '%s is no page, even if a page is requested',
    async (path) => {
      const response = await get(path, { Accept: NAVIGATION });
      expect([401, 404]).toContain(response.status);
      expect(response.type).toBe('application/problem+json');
    },
  );

  test('respond as without a dashboard', async () => {
    const response = await get('/healthz', { Accept: NAVIGATION });
    expect([response.body, response.headers['referrer-policy']]).toEqual([{ status: 'ok' }, 'no-referrer']);
  });
});

test('without a folder, only the API is served', async () => {
  const alone = await openTestApi();
  for (const path of ['/', '/assets/index-C0ffee.js']) {
    const response = await alone.as(null).get(path).set('Accept', NAVIGATION);
    expect([response.status, response.type]).toEqual([404, 'application/problem+json']);
  }
  await alone.close();
});

describe('/docs', () => {
  test('loads scripts of this server only, with the policy of the dashboard', async () => {
    const page = await get('/docs');
    expect([page.status, page.type]).toEqual([200, 'text/html']);
    expect(page.headers['content-security-policy']).toContain("script-src 'self';");
    const scripts = [...page.text.matchAll(/<script src="([^"]+)"><\/script>/g)].map(([, path]) => path);
    expect(scripts).toEqual(['/docs/scalar.js', '/docs/start.js']);
    expect(page.text.match(/<script/g)).toHaveLength(2);
    for (const path of ['/docs/scalar.js', '/docs/start.js']) {
      const script = await get(path);
      expect([script.status, script.type]).toEqual([200, 'text/javascript']);
      expect(script.headers).toMatchObject({ 'cache-control': 'no-cache', 'content-encoding': 'gzip' });
      const again = await get(path, { 'If-None-Match': script.headers['etag'] ?? '' });
      expect([again.status, again.text]).toEqual([304, '']);
    }
    expect((await get('/docs/start.js')).text).toContain('/api/cli/openapi.json');
  });
});
