import { type IncomingMessage, request } from 'node:http';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { MONITORS, newMonitor } from '../testing/monitors.ts';
import { openTestApi, type TestApi } from '../testing/test-api.ts';

let api: TestApi;
let id: string;
beforeAll(async () => {
  api = await openTestApi();
  ({ id } = await newMonitor(api));
});
afterAll(() => api.close());

interface Received {
  readonly status: number;
  readonly body: { readonly type?: string; readonly errors?: { path: string }[] };
}

/** Sends exactly these bytes and headers. */
async function send(
  body: string | Buffer | null,
  headers: Record<string, string> = { 'Content-Type': 'application/json' },
  options: { method?: string; path?: string; key?: string } = {},
): Promise<Received> {
  const outgoing = request({
    port: api.port,
    host: '127.0.0.1',
    method: options.method ?? 'POST',
    path: options.path ?? MONITORS,
    headers: {
      Authorization: `Bearer ${options.key ?? api.account.key}`,
      // Node omits it for methods that normally have no body.
      ...(body !== null && !headers['Transfer-Encoding'] && { 'Content-Length': Buffer.byteLength(body) }),
      ...headers,
    },
  });
  outgoing.end(body ?? undefined);
  const [response] = (await once(outgoing, 'response')) as [IncomingMessage];
  const received = await text(response);
  return {
    status: response.statusCode ?? 0,
    body: received === '' ? {} : (JSON.parse(received) as Received['body']),
  };
}

const GOOD = JSON.stringify({ name: 'a', url: 'http://a.example' });
const JSON_TYPE = { 'Content-Type': 'application/json' };

async function count(): Promise<number> {
  const { rows } = await api.database.pool.query<{ n: number }>('select count(*)::int as n from monitors');
  return rows[0]?.n ?? -1;
}

let before: number;
beforeEach(async () => {
  before = await count();
});

describe('400: a body that is not a JSON object', () => {
  test.each([
    ['cut off', '{"name": "a"'],
    ['empty text in quotes', '""'],
    ['null', 'null'],
    ['an array', '[{"name":"a","url":"http://a.example"}]'],
    ['a string', '"name"'],
    ['a number', '1'],
    ['true', 'true'],
    ['white space', ' \n'],
    ['single quotes', "{'name': 'a'}"],
    ['a comment', '{"name": "a" /* b */}'],
    ['a trailing comma', '{"name": "a",}'],
    ['NaN', '{"interval": NaN}'],
    ['two documents', `${GOOD}${GOOD}`],
    ['no UTF-8', Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d])],
    ['UTF-16', Buffer.from(GOOD, 'utf16le')],
    ['NUL bytes', Buffer.alloc(10)],
    ['very deep', `{"a":${'['.repeat(100_000)}`],
  ])('%s', async (_what, body) => {
    for (const [method, path] of [
      ['POST', MONITORS],
      ['PUT', `${MONITORS}/${id}`],
      ['POST', `${MONITORS}/${id}/trigger`],
    ] as const) {
      const response = await send(body, JSON_TYPE, { method, path });
      expect([response.status, response.body.type]).toEqual([400, 'urn:tocsin:problem:malformed-body']);
    }
    expect(await count()).toBe(before);
  });

  test.each([
    ['name', '{"name":"a","name":"b","url":"http://a.example"}'],
    ['name', '{"name":"a","\\u006eame":"b","url":"http://a.example"}'],
    ['headers.X-A', '{"name":"a","url":"http://a.example","headers":{"X-A":"1","X-A":"2"}}'],
    [
      'assertions.statusCode',
      '{"name":"a","url":"http://a.example","assertions":{"statusCode":200,"statusCode":500}}',
    ],
    ['regions.1.a', '{"regions":[{"a":1},{"a":1,"a":2}]}'],
    ['__proto__', '{"name":"a","url":"http://a.example","__proto__":{"method":"HEAD"}}'],
    ['headers.__proto__', '{"name":"a","url":"http://a.example","headers":{"__proto__":"x"}}'],
    [
      'assertions.__proto__',
      '{"name":"a","url":"http://a.example","assertions":{"__proto__":{"statusCode":1}}}',
    ],
  ])('a duplicate key or __proto__: %s', async (path, body) => {
    const response = await send(body);
    expect([response.status, response.body.errors?.map((error) => error.path)]).toEqual([400, [path]]);
    expect(await count()).toBe(before);
  });

  test('a deeply nested body delays no other request', async () => {
    const deep = `${'{"a":'.repeat(40_000)}1${'}'.repeat(40_000)}`;
    // This route needs no session.
    const path = '/api/dashboard/invitations/accept';
    const responses = await Promise.all([send(deep), send(deep, JSON_TYPE, { path })]);
    expect(responses.map(({ status }) => status)).toEqual([400, 400]);
  });

  test('constructor and prototype are ordinary unknown fields', async () => {
    const response = await send(
      '{"name":"a","url":"http://a.example","constructor":1,"prototype":{},"toString":1}',
    );
    expect(response.status).toBe(400);
    expect(response.body.errors?.map(({ path }) => path)).toEqual(['constructor', 'prototype', 'toString']);
  });

  test('braces, quotes and escapes inside of strings are not keys', async () => {
    const name = '{"a":1,"a":2} \\" ] }, "x": \\\\';
    const response = await send(JSON.stringify({ name, url: 'http://a.example', body: name }));
    expect(response.status).toBe(201);
    expect(response.body).toMatchObject({ monitor: { name, body: name } });
  });
});

describe('strings with millions of escapes', () => {
  const quotes = '\\"'.repeat(4 * 1024 * 1024);

  test.each([
    ['a value that is too long', `{"source":"${quotes}","monitors":[]}`, 'source'],
    ['a value of an unknown field', `{"source":"a","monitors":[],"x":"${quotes}"}`, 'x'],
    ['an unknown key', `{"source":"a","monitors":[],"${quotes}":1}`, '"'.repeat(4 * 1024 * 1024)],
    ['a key that is given twice', `{"${quotes}":1,"${quotes}":2}`, '"'.repeat(4 * 1024 * 1024)],
  ])('are parsed: %s', async (_what, body, path) => {
    const response = await send(body, JSON_TYPE, { method: 'PUT' });
    expect(response.status).toBe(400);
    expect(response.body.errors?.map((error) => error.path === path)).toEqual([true]);
  });
});

describe('415: a body that is not JSON', () => {
  test.each([
    ['text/plain', 415],
    ['application/x-www-form-urlencoded', 415],
    ['multipart/form-data; boundary=a', 415],
    ['application/merge-patch+json', 415],
    ['application/jsonp', 415],
    ['nonsense', 415],
    ['application/json; charset=utf-16', 415],
    ['application/json; charset=iso-8859-1', 415],
    ['application/json;charset=utf-8', 201],
    ['application/json; charset="UTF-8"', 201],
    ['APPLICATION/JSON', 201],
    ['application/json; profile="x"', 201],
  ])('%s: %d', async (type, status) => {
    expect((await send(GOOD, { 'Content-Type': type })).status).toBe(status);
  });

  test('without a content type', async () => {
    expect((await send(GOOD, {})).status).toBe(415);
  });

  test.each([
    ['gzip', gzipSync(GOOD), 201],
    ['deflate', deflateSync(GOOD), 201],
    ['br', brotliCompressSync(GOOD), 415],
    ['BR', brotliCompressSync(GOOD), 415],
    ['identity', Buffer.from(GOOD), 201],
    ['compress', Buffer.from(GOOD), 415],
    ['gzip, gzip', gzipSync(gzipSync(GOOD)), 415],
    ['gzip', Buffer.from(GOOD), 400],
    ['gzip', gzipSync(GOOD).subarray(0, 20), 400],
  ] as const)('with content encoding %s', async (encoding, body, status) => {
    expect((await send(body, { ...JSON_TYPE, 'Content-Encoding': encoding })).status).toBe(status);
  });

  test('is not checked for requests without a body, nor for GET', async () => {
    const path = `${MONITORS}/${id}`;
    expect((await send(null, {}, { method: 'PUT', path })).status).toBe(200);
    expect((await send(null, { 'Content-Type': 'text/plain' }, { method: 'PUT', path })).status).toBe(200);
    expect((await send('', { 'Transfer-Encoding': 'chunked' }, { method: 'PUT', path })).status).toBe(200);
    expect((await send('hello', { 'Content-Type': 'text/plain' }, { method: 'GET' })).status).toBe(200);
    expect((await send('{', JSON_TYPE, { method: 'GET', path })).status).toBe(200);
  });
});

describe('413: a body over 256 KiB', () => {
  const filled = (bytes: number): string => GOOD.slice(0, -1) + ' '.repeat(bytes - GOOD.length) + '}';

  test('is exact to the byte', async () => {
    expect((await send(filled(256 * 1024))).status).toBe(201);
    const response = await send(filled(256 * 1024 + 1));
    expect([response.status, response.body.type]).toEqual([413, 'urn:tocsin:problem:body-too-large']);
  });

  test('also applies to chunked, compressed and any other bodies', async () => {
    const big = filled(256 * 1024 + 1);
    expect((await send(big, { ...JSON_TYPE, 'Transfer-Encoding': 'chunked' })).status).toBe(413);
    const bomb = gzipSync(' '.repeat(5 * 1024 * 1024));
    expect((await send(bomb, { ...JSON_TYPE, 'Content-Encoding': 'gzip' })).status).toBe(413);
    expect((await send(big, { 'Content-Type': 'text/plain' })).status).toBe(413);
    expect(await count()).toBe(before);
  });
});

describe('order of errors', () => {
  const unknown = `${MONITORS}/0190b5f0-0000-7000-8000-000000000000`;
  const read = (): string => api.account.readKey;

  test('malformed body before 403', async () => {
    for (const [method, path] of [
      ['POST', MONITORS],
      ['PUT', unknown],
    ] as const) {
      expect((await send('{', JSON_TYPE, { method, path, key: read() })).status).toBe(400);
      expect((await send('{}', {}, { method, path, key: read() })).status).toBe(415);
      expect((await send(' '.repeat(300_000), {}, { method, path, key: read() })).status).toBe(413);
    }
  });

  test('403 before 404, 404 before fields', async () => {
    const bad = JSON.stringify({ interval: 'x' });
    expect((await send(bad, JSON_TYPE, { method: 'PUT', path: unknown, key: read() })).status).toBe(403);
    expect((await send(bad, JSON_TYPE, { method: 'PUT', path: unknown })).status).toBe(404);
    expect((await send(bad, JSON_TYPE, { method: 'PUT', path: `${MONITORS}/${id}` })).status).toBe(400);
    expect((await send('{', JSON_TYPE, { method: 'PUT', path: unknown })).status).toBe(400);
    expect((await send(null, {}, { method: 'GET', path: `${unknown}/events?limit=x` })).status).toBe(404);
    expect((await send(null, {}, { method: 'GET', path: `${MONITORS}/${id}/events?limit=x` })).status).toBe(
      400,
    );
  });
});

describe('an :id that does not identify a resource', () => {
  test.each([
    'no-id',
    '%E0%A4%A',
    '%',
    '%zz',
    '%00',
    '..%2f..%2fetc',
    '1',
    'a'.repeat(600),
    '%F0%9F%94%94',
    "'%20or%201=1",
    'null',
    '0190b5f0000070008000000000000000',
    '{0190b5f0-0000-7000-8000-000000000000}',
    '0190b5f0-0000-7000-8000-000000000000%0A',
  ])('%s: 404 on every route', async (bad) => {
    for (const [method, suffix] of [
      ['GET', ''],
      ['PUT', ''],
      ['DELETE', ''],
      ['POST', '/trigger'],
      ['GET', '/events'],
    ] as const) {
      const response = await send('{}', JSON_TYPE, { method, path: `${MONITORS}/${bad}${suffix}` });
      expect([method, response.status]).toEqual([method, 404]);
    }
    const forbidden = await send('{}', JSON_TYPE, {
      method: 'PUT',
      path: `${MONITORS}/${bad}`,
      key: api.account.readKey,
    });
    expect(forbidden.status).toBe(403);
  });

  test('is matched in upper case too', async () => {
    expect((await send(null, {}, { method: 'GET', path: `${MONITORS}/${id.toUpperCase()}` })).status).toBe(
      200,
    );
  });
});

test.each([
  '{"headers":{"Authorization":s3cret}}',
  's3cret',
  '{"a":"s3cret" "b":1}',
  '{"a":"s3cret\n"}',
  '{"a":"\\s3cret"}',
  '{"a":undefineds3cret}',
  'undefined',
])('the error for %j describes the problem and repeats nothing of the body', async (body) => {
  const response = await send(body);
  expect(response.status).toBe(400);
  expect(response.body).toMatchObject({ detail: expect.stringMatching(/^The body is not valid JSON: ./) });
  expect(JSON.stringify(response.body)).not.toMatch(/s3cret|Authorization|undefined/);
});
