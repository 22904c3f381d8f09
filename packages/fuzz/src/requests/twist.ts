import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib';
import * as fc from 'fast-check';
import type { WireRequest } from '../wire/send.ts';

/** What is unusual about a request. Plain data, so that fast-check can print and shrink it. */
export type Twist =
  | { readonly kind: 'method'; readonly method: string }
  | { readonly kind: 'path'; readonly path: string }
  | { readonly kind: 'header'; readonly name: string; readonly value: string | readonly string[] | null }
  | { readonly kind: 'coding'; readonly coding: string }
  | { readonly kind: 'bytes'; readonly bytes: string };

const METHODS = [
  ['HEAD', 'OPTIONS', 'PATCH', 'PUT', 'POST', 'DELETE', 'GET', 'TRACE', 'PROPFIND', 'PURGE', 'SEARCH'],
  ['M-SEARCH', 'QUERY', 'LINK'],
].flat();

/** `$` stands for the path of the plan. */
const PATHS = [
  ['$/', '//$', '/.$', '/%2e$', '$/..', '$;a=b', '$%00', '$%0d%0aX-A:%20b', '$%ff', '$%', '$/x/y/z', '$#x'],
  [
    '$?',
    '$??a=b',
    '$?%',
    '$?a=%ff',
    '$?a[b][c]=d',
    '$?limit=1&limit=2',
    '$\\',
    '$|',
    '$"',
    '$~',
    '/api/../$',
  ],
  ['http://other.invalid$', 'http://[::1$', '*', `$?${'a=b&'.repeat(2_000)}`],
].flat();

const HEADERS: readonly (readonly [name: string, values: readonly string[]])[] = [
  ['Host', ['', 'a b', '[', 'evil.invalid:99999']],
  ['X-Forwarded-Proto', ['javascript', 'a b']],
  ['X-Forwarded-Host', ['evil.invalid']],
  ['X-Forwarded-For', ['999.1.1.1, ::g, "', 'a'.repeat(4_000)]],
  ['Forwarded', ['for="[::']],
  ['X-Request-Id', [' a', 'é', 'a'.repeat(500)]],
  ['Cookie', ['tocsin.session_token=%', 'tocsin.session_token=%E0%A4%A.%00', '=', `a=${'b'.repeat(8_000)}`]],
  ['Cookie', ['__proto__=1; constructor=2']],
  ['Authorization', ['Bearer', 'Basic YTpi', 'bearer tocsin_live_x', `Bearer tocsin_live_${'é'.repeat(48)}`]],
  ['Origin', ['null', 'http://']],
  ['Sec-Fetch-Site', ['same-origin']],
  ['Last-Event-ID', ['9999-12-31T23:59:59.999Z', 'é']],
  ['Expect', ['the-unexpected', '100-continue']],
  ['Range', ['bytes=0-1,5-']],
  ['If-None-Match', ['*']],
  ['If-Match', ['*', '"1"', 'W/"1", "']],
  ['Idempotency-Key', ['', 'é', 'a'.repeat(300)]],
  ['If-Modified-Since', ['yesterday']],
  ['Accept', ['text/html;q=NaN']],
  ['Accept-Encoding', ['gzip;q=é']],
  ['X-HTTP-Method-Override', ['DELETE']],
  ['Upgrade', ['websocket', 'h2c']],
  ['X-Large', ['a'.repeat(10_000), 'a'.repeat(20_000)]],
  ['x-tocsin-client-ip', ["'; drop table sessions"]],
];

const CONTENT_TYPES = [
  [null, '', 'text/plain', 'application/x-www-form-urlencoded', 'multipart/form-data; boundary=a'],
  [
    'application/json; charset=utf-16',
    'application/json; charset=latin1',
    'application/json; charset="UTF-8"',
  ],
  ['application/json;;', 'APPLICATION/JSON', 'application/json, text/plain', 'application/problem+json'],
  ['application/é', `application/${'a'.repeat(4_000)}`],
].flat();

/** The body is really coded so, is only declared to be, is cut off, or is a bomb: 20 MB of white space. */
const CODINGS = [
  ['gzip', 'deflate', 'br', 'identity', 'GZIP', 'gzip, gzip', 'zstd', 'x', '', 'gzip?', 'br?'],
  ['gzip-cut', 'gzip-bomb', 'br-bomb', 'chunked'],
].flat();

/** Bodies that are no JSON object, as Latin-1. */
const BODIES = [
  ['', ' ', 'null', '0', '"text"', '[]', '[{}]', '{', '}', '{"name":}', '{"name":"a",}', "{'name':'a'}"],
  [
    '{"name":NaN}',
    '{"name":Infinity}',
    '{"a":1}{"b":2}',
    '{"a":1}\0',
    '\u00ff\u00fe{\0}\0',
    '{"name":"\\x"}',
  ],
  ['\u00ef\u00bb\u00bf{"name":"a","url":"https://a.invalid"}', '{"name":"\u00c3\u0028"}', '{"name":"\t"}'],
  ['{"name":"\u00ed\u00a0\u0080"}', '// a\n{}', '{"\\u005f_proto__":{}}', '{"name":"a","n\\u0061me":"b"}'],
  ['name=a&url=https://a.invalid', '<a/>', `${'{"a":'.repeat(43_000)}1${'}'.repeat(43_000)}`],
  ['[', '{"a":', '{"a":['].map((open) => open.repeat(40_000)),
  [262_143, 262_144, 262_145, 600_000].map((length) => `{"name":"${'a'.repeat(length - 11)}"}`),
  [`{${Array.from({ length: 20_000 }, (_, index) => `"k${index}":1`).join(',')}}`],
].flat();

const headers = fc.oneof(
  {
    weight: 45,
    arbitrary: fc.constantFrom(
      ...HEADERS.flatMap(([name, values]) => values.map((value) => [name, value] as const)),
    ),
  },
  // Never the same twice: the api repeats its response to a repeated key, which the model does not expect.
  { weight: 22, arbitrary: fc.uuid().map((id) => ['Idempotency-Key', id] as const) },
  {
    weight: 22,
    arbitrary: fc
      .constantFrom(50, 150, 250, 1_200)
      .map((count) => ['X-Many', Array<string>(count).fill('a')] as const),
  },
);

export const twists: fc.Arbitrary<Twist> = fc.oneof(
  fc.constantFrom(...METHODS).map((method): Twist => ({ kind: 'method', method })),
  fc.constantFrom(...PATHS).map((path): Twist => ({ kind: 'path', path })),
  headers.map(([name, value]): Twist => ({ kind: 'header', name, value })),
  fc.constantFrom(...CONTENT_TYPES).map((value): Twist => ({ kind: 'header', name: 'Content-Type', value })),
  fc.constantFrom(...CODINGS).map((coding): Twist => ({ kind: 'coding', coding })),
  fc
    .oneof(
      { weight: 5, arbitrary: fc.constantFrom(...BODIES) },
      {
        weight: 1,
        arbitrary: fc.uint8Array({ maxLength: 50 }).map((array) => Buffer.from(array).toString('latin1')),
      },
    )
    .map((bytes): Twist => ({ kind: 'bytes', bytes })),
);

export function twistRequest(plain: WireRequest, twist: Twist | null): WireRequest {
  switch (twist?.kind) {
    case undefined:
      return plain;
    case 'method':
      return { ...plain, method: twist.method };
    case 'path':
      return { ...plain, path: twist.path.replace('$', () => plain.path) };
    case 'header':
      return { ...plain, headers: withHeader(plain.headers, twist.name, twist.value) };
    case 'bytes':
      return { ...plain, body: Buffer.from(twist.bytes, 'latin1') };
    case 'coding':
      return encoded(plain, twist.coding);
  }
}

const BOMB = Buffer.alloc(20_000_000, ' ');
const bombs = new Map<string, Buffer>();

function encoded(plain: WireRequest, coding: string): WireRequest {
  if (coding === 'chunked') return { ...plain, isChunked: true };
  const [name = ''] = coding.split(/[?-]/);
  const headers = withHeader(plain.headers, 'Content-Encoding', name);
  return { ...plain, headers, body: compress(plain.body ?? Buffer.from('{}'), coding) };
}

function compress(body: Buffer, coding: string): Buffer {
  switch (coding) {
    case 'gzip':
      return gzipSync(body);
    case 'deflate':
      return deflateSync(body);
    case 'br':
      return brotliCompressSync(body);
    case 'gzip, gzip':
      return gzipSync(gzipSync(body));
    case 'gzip-cut':
      return gzipSync(body).subarray(0, -5);
    case 'gzip-bomb':
    case 'br-bomb': {
      const bomb = bombs.get(coding) ?? (coding === 'gzip-bomb' ? gzipSync : brotliCompressSync)(BOMB);
      bombs.set(coding, bomb);
      return bomb;
    }
    default:
      return body;
  }
}

/** Replaces a header whatever its capitals are: otherwise both would be sent. */
function withHeader(
  headers: WireRequest['headers'],
  name: string,
  value: string | readonly string[] | null,
): WireRequest['headers'] {
  const others = Object.entries(headers).filter(([known]) => known.toLowerCase() !== name.toLowerCase());
  return Object.fromEntries(value === null ? others : [...others, [name, value]]);
}
