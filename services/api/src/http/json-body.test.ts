import { type IncomingMessage, request } from 'node:http';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib';
import { describe, expect, test } from '@jest/globals';
import { AppError } from '@tocsin/contracts/errors';
import { MONITORS, newMonitor } from '../testing/monitors.ts';
import { useTestApi } from '../testing/test-api.ts';
import { parseJsonObject } from './json-text.ts';

const api = await useTestApi();
const { id } = await newMonitor(api);

interface Received {
  readonly status: number;
  readonly body: { readonly type?: string; readonly errors?: { path: string }[] };
}

const JSON_TYPE = { 'Content-Type': 'application/json' };

/** Sends exactly these bytes and headers. */
async function send(
  body: string | Buffer | null,
  headers: Record<string, string> = JSON_TYPE,
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

/** The error with which a text is refused. */
function refusalOf(body: string): AppError {
  try {
    parseJsonObject(body);
  } catch (error) {
    if (error instanceof AppError) return error;
    throw error;
  }
  throw new Error('the text was accepted');
}

describe('a text is refused', () => {
  test.each([
    ['cut off', '{"name": "a"'],
    ['null', 'null'],
    ['an array', '[{"name":"a"}]'],
    ['white space', ' \n'],
    ['with a trailing comma', '{"name": "a",}'],
    ['two documents', `${GOOD}${GOOD}`],
    ['very deep', `{"a":${'['.repeat(100_000)}`],
  ])('%s', (_what, body) => {
    expect(refusalOf(body).code).toBe('malformed_body');
  });

  test.each([
    ['name', '{"name":"a","\\u006eame":"b"}'],
    ['headers.X-A', '{"name":"a","headers":{"X-A":"1","X-A":"2"}}'],
    ['regions.1.a', '{"regions":[{"a":1},{"a":1,"a":2}]}'],
    ['headers.__proto__', '{"name":"a","headers":{"__proto__":"x"}}'],
  ])('with a duplicate key or __proto__: %s', (path, body) => {
    expect(refusalOf(body).errors).toMatchObject([{ path }]);
  });

  test('with a duplicate key of millions of escapes', () => {
    const quotes = '\\"'.repeat(4 * 1024 * 1024);
    const { message } = refusalOf(`{"${quotes}":1,"${quotes}":2}`);
    expect(message.startsWith('The key """"')).toBe(true);
  });

  test.each([
    '{"headers":{"Authorization":s3cret}}',
    's3cret',
    '{"a":"s3cret" "b":1}',
    '{"a":"s3cret\n"}',
    '{"a":"\\s3cret"}',
    '{"a":undefineds3cret}',
  ])('%j: the error describes the problem and repeats nothing of the text', (body) => {
    const { message } = refusalOf(body);
    expect(message).toMatch(/^The body is not valid JSON: ./);
    expect(message).not.toMatch(/s3cret|Authorization|undefined/);
  });
});

test('braces, quotes and escapes inside of strings are not keys; constructor and prototype are ordinary keys', () => {
  const name = '{"a":1,"a":2} \\" ] }, "x": \\\\';
  const value = { name, body: name, constructor: 1, prototype: {}, toString: 1 };
  expect(parseJsonObject(JSON.stringify(value))).toEqual(value);
});

describe('400', () => {
  test.each([
    ['cut off', '{"name": "a"'],
    ['no UTF-8', Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d])],
    ['UTF-16', Buffer.from(GOOD, 'utf16le')],
  ])('a body that is %s', async (_what, body) => {
    const response = await send(body);
    expect([response.status, response.body.type]).toEqual([400, 'urn:tocsin:problem:malformed-body']);
  });

  test('a body with a duplicate key, or with unknown fields', async () => {
    const duplicate = await send('{"name":"a","name":"b","url":"http://a.example"}');
    expect(duplicate).toMatchObject({ status: 400, body: { errors: [{ path: 'name' }] } });
    const unknown = await send('{"name":"a","url":"http://a.example","constructor":1,"toString":1}');
    expect(unknown.body.errors?.map(({ path }) => path)).toEqual(['constructor', 'toString']);
  });

  test('a deeply nested body, also on a route without a session', async () => {
    const deep = `${'{"a":'.repeat(40_000)}1${'}'.repeat(40_000)}`;
    for (const path of [MONITORS, '/api/dashboard/invitations/accept'])
      expect((await send(deep, JSON_TYPE, { path })).status).toBe(400);
  });
});

describe('415: a body that is not JSON', () => {
  test.each([
    ['', 415],
    ['text/plain', 415],
    ['application/merge-patch+json', 415],
    ['application/json; charset=utf-16', 415],
    ['APPLICATION/JSON; charset="UTF-8"', 201],
    ['application/json; profile="x"', 201],
  ])('content type %j: %d', async (type, status) => {
    expect((await send(GOOD, type === '' ? {} : { 'Content-Type': type })).status).toBe(status);
  });

  test.each([
    ['gzip', gzipSync(GOOD), 201],
    ['deflate', deflateSync(GOOD), 201],
    ['BR', brotliCompressSync(GOOD), 415],
    ['identity', Buffer.from(GOOD), 201],
    ['gzip, gzip', gzipSync(gzipSync(GOOD)), 415],
    ['gzip', Buffer.from(GOOD), 400],
    ['gzip', gzipSync(GOOD).subarray(0, 20), 400],
  ] as const)('content encoding %s', async (encoding, body, status) => {
    expect((await send(body, { ...JSON_TYPE, 'Content-Encoding': encoding })).status).toBe(status);
  });

  test('is not checked for requests without a body, nor for GET', async () => {
    const path = `${MONITORS}/${id}`;
    const text = { 'Content-Type': 'text/plain' };
    for (const [method, body, headers] of [
      ['PUT', null, text],
      ['PUT', '', { 'Transfer-Encoding': 'chunked' }],
      ['GET', 'hello', text],
      ['GET', '{', JSON_TYPE],
    ] as const)
      expect((await send(body, headers, { method, path })).status).toBe(200);
  });
});

test('413: a body over 256 KiB, to the byte, even if it is chunked, compressed or of another type', async () => {
  const filled = (bytes: number): string => GOOD.slice(0, -1) + ' '.repeat(bytes - GOOD.length) + '}';
  expect((await send(filled(256 * 1024))).status).toBe(201);
  const big = filled(256 * 1024 + 1);
  const bomb = gzipSync(' '.repeat(5 * 1024 * 1024));
  for (const [body, headers] of [
    [big, {}],
    [big, { 'Transfer-Encoding': 'chunked' }],
    [bomb, { 'Content-Encoding': 'gzip' }],
    [big, { 'Content-Type': 'text/plain' }],
  ] as const) {
    const response = await send(body, { ...JSON_TYPE, ...headers });
    expect([response.status, response.body.type]).toEqual([413, 'urn:tocsin:problem:body-too-large']);
  }
});

test('a malformed body comes before 403, 403 before 404, and 404 before invalid fields', async () => {
  const known = `${MONITORS}/${id}`;
  const unknown = `${MONITORS}/0190b5f0-0000-7000-8000-000000000000`;
  const bad = JSON.stringify({ interval: 'x' });
  const statusOf = async (path: string, body: string | null, fields: object = {}): Promise<number> =>
    (await send(body, JSON_TYPE, { method: 'PUT', path, ...fields })).status;
  const reader = { key: api.account.readKey };
  expect(await statusOf(unknown, '{', reader)).toBe(400);
  expect(await statusOf(unknown, bad, reader)).toBe(403);
  expect(await statusOf(unknown, bad)).toBe(404);
  expect(await statusOf(known, bad)).toBe(400);
  expect(await statusOf(`${unknown}/events?limit=x`, null, { method: 'GET' })).toBe(404);
  expect(await statusOf(`${known}/events?limit=x`, null, { method: 'GET' })).toBe(400);
});

test.each([
  '%E0%A4%A',
  '%00',
  '..%2f..%2fetc',
  'a'.repeat(600),
  '0190b5f0000070008000000000000000',
  '{0190b5f0-0000-7000-8000-000000000000}',
  '0190b5f0-0000-7000-8000-000000000000%0A',
])('an :id that does not identify a resource: %s: 404', async (bad) => {
  expect((await send(null, {}, { method: 'GET', path: `${MONITORS}/${bad}` })).status).toBe(404);
});

test('an :id is matched in upper case, too', async () => {
  expect((await send(null, {}, { method: 'GET', path: `${MONITORS}/${id.toUpperCase()}` })).status).toBe(200);
});
