import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib';
import * as fc from 'fast-check';
import type { WireRequest } from '../wire/send.ts';

/** Something unusual about how a request is made; what else it says is as planned. */
export type Twist =
  | { readonly kind: 'method'; readonly method: string }
  | { readonly kind: 'path'; readonly path: string }
  | { readonly kind: 'header'; readonly name: string; readonly value: string | readonly string[] }
  | { readonly kind: 'type'; readonly type: string | null }
  | { readonly kind: 'coding'; readonly coding: string }
  | { readonly kind: 'bytes'; readonly bytes: string };

const methods = fc.constantFrom(
  'HEAD',
  'OPTIONS',
  'PATCH',
  'PUT',
  'POST',
  'DELETE',
  'GET',
  'TRACE',
  'PROPFIND',
  'PURGE',
  'SEARCH',
  'M-SEARCH',
  'QUERY',
  'LINK',
);

/** What becomes of the path, which stands for `$`. */
const paths = fc.constantFrom(
  '$/',
  '//$',
  '/.$',
  '/%2e$',
  '$/..',
  '$;a=b',
  '$%00',
  '$%0d%0aX-A:%20b',
  '$%ff',
  '$%',
  '$/x/y/z',
  '$#x',
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
  'http://other.invalid$',
  'http://[::1$',
  '*',
  `$?${'a=b&'.repeat(2_000)}`,
);

const headers = fc.oneof(
  fc.constantFrom<readonly [string, string]>(
    ['Host', ''],
    ['Host', 'a b'],
    ['Host', '['],
    ['Host', 'evil.invalid:99999'],
    ['X-Forwarded-Proto', 'javascript'],
    ['X-Forwarded-Proto', 'a b'],
    ['X-Forwarded-Host', 'evil.invalid'],
    ['X-Forwarded-For', '999.1.1.1, ::g, "'],
    ['X-Forwarded-For', 'a'.repeat(4_000)],
    ['Forwarded', 'for="[::'],
    ['X-Request-Id', ' a'],
    ['X-Request-Id', 'é'],
    ['X-Request-Id', 'a'.repeat(500)],
    ['Cookie', 'tocsin.session_token=%'],
    ['Cookie', 'tocsin.session_token=%E0%A4%A.%00'],
    ['Cookie', '='],
    ['Cookie', `a=${'b'.repeat(8_000)}`],
    ['Cookie', '__proto__=1; constructor=2'],
    ['Authorization', 'Bearer'],
    ['Authorization', 'Basic YTpi'],
    ['Authorization', 'bearer tocsin_live_x'],
    ['Authorization', `Bearer tocsin_live_${'é'.repeat(48)}`],
    ['Origin', 'null'],
    ['Origin', 'http://'],
    ['Sec-Fetch-Site', 'same-origin'],
    ['Last-Event-ID', '9999-12-31T23:59:59.999Z'],
    ['Last-Event-ID', 'é'],
    ['Expect', 'the-unexpected'],
    ['Expect', '100-continue'],
    ['Range', 'bytes=0-1,5-'],
    ['If-None-Match', '*'],
    ['If-Match', '*'],
    ['If-Match', '"1"'],
    ['If-Match', 'W/"1", "'],
    ['Idempotency-Key', ''],
    ['Idempotency-Key', 'é'],
    ['Idempotency-Key', 'a'.repeat(300)],
    ['If-Modified-Since', 'yesterday'],
    ['Accept', 'text/html;q=NaN'],
    ['Accept-Encoding', 'gzip;q=é'],
    ['X-HTTP-Method-Override', 'DELETE'],
    ['Upgrade', 'websocket'],
    ['Upgrade', 'h2c'],
    ['X-Large', 'a'.repeat(10_000)],
    ['X-Larger', 'a'.repeat(20_000)],
    ['x-tocsin-client-ip', "'; drop table sessions"],
  ),
  // Each its own: an answer that is given again is that of a request before, which the model has seen already.
  fc.uuid().map((id) => ['Idempotency-Key', id] as const),
  fc.constantFrom(50, 150, 250, 1_200).map((count) => ['X-Many', Array<string>(count).fill('a')] as const),
);

const types = fc.constantFrom(
  null,
  '',
  'text/plain',
  'application/x-www-form-urlencoded',
  'multipart/form-data; boundary=a',
  'application/json; charset=utf-16',
  'application/json; charset=latin1',
  'application/json; charset="UTF-8"',
  'application/json;;',
  'APPLICATION/JSON',
  'application/json, text/plain',
  'application/problem+json',
  'application/é',
  `application/${'a'.repeat(4_000)}`,
);

/** How the body is coded: in truth, in name only, badly, or too often. */
const codings = fc.constantFrom(
  'gzip',
  'deflate',
  'br',
  'identity',
  'GZIP',
  'gzip, gzip',
  'zstd',
  'x',
  '',
  'gzip?',
  'br?',
  'gzip-cut',
  'gzip-bomb',
  'br-bomb',
  'chunked',
);

/** Bodies that are no JSON object, as Latin-1. */
const bytes = fc.oneof(
  fc.constantFrom(
    '',
    ' ',
    'null',
    '0',
    '"text"',
    '[]',
    '[{}]',
    '{',
    '}',
    '{"name":}',
    '{"name":"a",}',
    "{'name':'a'}",
    '{"name":NaN}',
    '{"name":Infinity}',
    '{"a":1}{"b":2}',
    '{"a":1}\0',
    '\u00ef\u00bb\u00bf{"name":"a","url":"https://a.invalid"}',
    '\u00ff\u00fe{\0}\0',
    '{"name":"\u00c3\u0028"}',
    '{"name":"\u00ed\u00a0\u0080"}',
    '{"name":"\\x"}',
    '{"name":"\t"}',
    '// a\n{}',
    '{"\\u005f_proto__":{}}',
    '{"name":"a","n\\u0061me":"b"}',
    'name=a&url=https://a.invalid',
    '<a/>',
  ),
  fc.constantFrom('[', '{"a":', '{"a":[').map((open) => open.repeat(40_000)),
  fc
    .constantFrom(262_143, 262_144, 262_145, 600_000)
    .map((length) => `{"name":"${'a'.repeat(length - 11)}"}`),
  fc.constant(`${'{"a":'.repeat(43_000)}1${'}'.repeat(43_000)}`),
  fc.constant(`{${Array.from({ length: 20_000 }, (_, index) => `"k${index}":1`).join(',')}}`),
  fc.uint8Array({ maxLength: 50 }).map((array) => Buffer.from(array).toString('latin1')),
);

export const twists: fc.Arbitrary<Twist> = fc.oneof(
  methods.map((method): Twist => ({ kind: 'method', method })),
  paths.map((path): Twist => ({ kind: 'path', path })),
  headers.map(([name, value]): Twist => ({ kind: 'header', name, value })),
  types.map((type): Twist => ({ kind: 'type', type })),
  codings.map((coding): Twist => ({ kind: 'coding', coding })),
  bytes.map((bytes): Twist => ({ kind: 'bytes', bytes })),
);

const BOMB = Buffer.alloc(20_000_000, ' ');
const bombs = new Map<string, Buffer>();

/** A request as planned, with what is unusual about it. */
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
    case 'type':
      return { ...plain, headers: withHeader(plain.headers, 'Content-Type', twist.type) };
    case 'bytes':
      return { ...plain, body: Buffer.from(twist.bytes, 'latin1') };
    case 'coding':
      return coded(plain, twist.coding);
  }
}

function coded(plain: WireRequest, coding: string): WireRequest {
  if (coding === 'chunked') return { ...plain, isChunked: true };
  const [name = '', how] = coding.split(/[?-]/);
  const headers = withHeader(plain.headers, 'Content-Encoding', name);
  return { ...plain, headers, body: compress(plain.body ?? Buffer.from('{}'), coding, how) };
}

function compress(body: Buffer, coding: string, how: string | undefined): Buffer {
  if (how === 'bomb') return bombOf(coding);
  if (coding === 'gzip') return gzipSync(body);
  if (coding === 'deflate') return deflateSync(body);
  if (coding === 'br') return brotliCompressSync(body);
  if (coding === 'gzip, gzip') return gzipSync(gzipSync(body));
  if (how === 'cut') return gzipSync(body).subarray(0, -5);
  return body;
}

/** 20 MB of white space. */
function bombOf(coding: string): Buffer {
  const bomb = bombs.get(coding) ?? (coding === 'gzip-bomb' ? gzipSync(BOMB) : brotliCompressSync(BOMB));
  bombs.set(coding, bomb);
  return bomb;
}

/** Header names have one spelling here, or both would be sent. */
function withHeader(
  headers: WireRequest['headers'],
  name: string,
  value: string | readonly string[] | null,
): WireRequest['headers'] {
  const others = Object.entries(headers).filter(([known]) => known.toLowerCase() !== name.toLowerCase());
  return Object.fromEntries(value === null ? others : [...others, [name, value]]);
}
