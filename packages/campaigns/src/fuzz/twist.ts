import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib';
import * as fc from 'fast-check';
import type { WireRequest } from './send.ts';
import { mostly, oneOf } from './values.ts';

/** An unusual property of a request. It is plain data, so that fast-check can print and shrink it. */
export type Twist =
  | { readonly kind: 'method' | 'path' | 'coding' | 'bytes'; readonly value: string }
  | { readonly kind: 'header'; readonly name: string; readonly value: string | readonly string[] | null };

const methods = oneOf(
  'HEAD OPTIONS PATCH PUT POST DELETE GET TRACE PROPFIND PURGE SEARCH M-SEARCH QUERY LINK',
);

/** `$` stands for the planned path. */
const paths = oneOf(
  `$/ //$ /.$ /%2e$ $/.. $;a=b $%00 $%0d%0aX-A:%20b $%ff $% $/x/y/z $#x $\\ $| $" $~ /api/../$ *
  $? $??a=b $?% $?a=%ff $?a[b][c]=d $?limit=1&limit=2 http://other.invalid$ http://[::1$`,
  `$?${'a=b&'.repeat(2_000)}`,
);

const HEADERS: Readonly<Record<string, readonly (string | null)[]>> = {
  Host: ['', 'a b', '[', 'evil.invalid:99999'],
  'X-Forwarded-Proto': ['javascript', 'a b'],
  'X-Forwarded-Host': ['evil.invalid'],
  'X-Forwarded-For': ['999.1.1.1, ::g, "', 'a'.repeat(4_000)],
  Forwarded: ['for="[::'],
  'X-Request-Id': [' a', 'é', 'a'.repeat(500)],
  Cookie: ['tocsin.session_token=%', 'tocsin.session_token=%E0%A4%A.%00', '=', '__proto__=1; constructor=2'],
  cookie: [`a=${'b'.repeat(8_000)}`],
  Authorization: ['Bearer', 'Basic YTpi', 'bearer tocsin_live_x', `Bearer tocsin_live_${'é'.repeat(48)}`],
  Origin: ['null', 'http://'],
  'Sec-Fetch-Site': ['same-origin'],
  'Last-Event-ID': ['9999-12-31T23:59:59.999Z', 'é'],
  Expect: ['the-unexpected', '100-continue'],
  Range: ['bytes=0-1,5-'],
  'If-None-Match': ['*'],
  'If-Match': ['*', '"1"', 'W/"1", "'],
  'Idempotency-Key': ['', 'é', 'a'.repeat(300)],
  'If-Modified-Since': ['yesterday'],
  Accept: ['text/html;q=NaN'],
  'Accept-Encoding': ['gzip;q=é'],
  'X-HTTP-Method-Override': ['DELETE'],
  Upgrade: ['websocket', 'h2c'],
  'X-Large': ['a'.repeat(10_000), 'a'.repeat(20_000)],
  'x-tocsin-client-ip': ["'; drop table sessions"],
};

const CONTENT_TYPES = [
  [null, '', 'text/plain', 'application/x-www-form-urlencoded', 'multipart/form-data; boundary=a'],
  ['utf-16', 'latin1', '"UTF-8"'].map((charset) => `application/json; charset=${charset}`),
  ['application/json;;', 'APPLICATION/JSON', 'application/json, text/plain', 'application/problem+json'],
  ['application/é', `application/${'a'.repeat(4_000)}`],
].flat();

/** Encoders of bodies by name. Other codings are only declared in the header, without the part of the name after `?` or `-`. */
const CODINGS: Readonly<Record<string, (body: Buffer) => Buffer>> = {
  gzip: gzipSync,
  deflate: deflateSync,
  br: brotliCompressSync,
  'gzip, gzip': (body) => gzipSync(gzipSync(body)),
  'gzip-cut': (body) => gzipSync(body).subarray(0, -5),
  'gzip-bomb': () => bomb(gzipSync),
  'br-bomb': () => bomb(brotliCompressSync),
};
const DECLARED_CODINGS = ['identity', 'GZIP', 'zstd', 'x', '', 'gzip?', 'br?'];
const CHUNKED = 'chunked';

/** Unusual bodies in Latin-1. Most are not a JSON object. */
const BODIES = [
  ['', ' ', 'null', '0', '"text"', '[]', '[{}]', '{', '}', '{"name":}', '{"name":"a",}', "{'name':'a'}"],
  ['{"name":NaN}', '{"name":Infinity}', '{"a":1}{"b":2}', '{"a":1}\0', '\u00ff\u00fe{\0}\0'],
  ['\u00ef\u00bb\u00bf{"name":"a","url":"https://a.invalid"}', '{"name":"\u00c3\u0028"}', '{"name":"\t"}'],
  ['{"name":"\\x"}', '{"name":"\u00ed\u00a0\u0080"}', '// a\n{}', '{"\\u005f_proto__":{}}'],
  ['{"name":"a","n\\u0061me":"b"}', 'name=a&url=https://a.invalid', '<a/>'],
  [`${'{"a":'.repeat(43_000)}1${'}'.repeat(43_000)}`],
  ['[', '{"a":', '{"a":['].map((open) => open.repeat(40_000)),
  [262_143, 262_144, 262_145, 600_000].map((length) => `{"name":"${'a'.repeat(length - 11)}"}`),
  [`{${Array.from({ length: 20_000 }, (_, index) => `"k${index}":1`).join(',')}}`],
].flat();

const randomBytes = fc.uint8Array({ maxLength: 50 }).map((bytes) => Buffer.from(bytes).toString('latin1'));

const headers = fc.oneof(
  { weight: 2, arbitrary: fc.constantFrom(...Object.entries(HEADERS).flatMap(headersNamed)) },
  // Keys are unique, because the api repeats its response to a repeated key, which the model does not expect.
  { weight: 1, arbitrary: fc.uuid().map((id) => toHeader('Idempotency-Key', id)) },
  {
    weight: 1,
    arbitrary: fc
      .constantFrom(50, 150, 250, 1_200)
      .map((count) => toHeader('X-Many', Array(count).fill('a'))),
  },
);

function headersNamed([name, values]: readonly [string, readonly (string | null)[]]): Twist[] {
  return values.map((value) => toHeader(name, value));
}

function toHeader(name: string, value: string | string[] | null): Twist {
  return { kind: 'header', name, value };
}

function toTwist(kind: Exclude<Twist['kind'], 'header'>): (value: string) => Twist {
  return (value) => ({ kind, value });
}

export const twists: fc.Arbitrary<Twist> = fc.oneof(
  methods.map(toTwist('method')),
  paths.map(toTwist('path')),
  headers,
  fc.constantFrom(...headersNamed(['Content-Type', CONTENT_TYPES])),
  fc.constantFrom(...Object.keys(CODINGS), ...DECLARED_CODINGS, CHUNKED).map(toTwist('coding')),
  mostly(fc.constantFrom(...BODIES), randomBytes).map(toTwist('bytes')),
);

export function twistRequest(plain: WireRequest, twist: Twist | null): WireRequest {
  switch (twist?.kind) {
    case undefined:
      return plain;
    case 'method':
      return { ...plain, method: twist.value };
    case 'path':
      return { ...plain, path: twist.value.replace('$', () => plain.path) };
    case 'header':
      return withHeader(plain, twist.name, twist.value);
    case 'bytes':
      return { ...plain, body: Buffer.from(twist.value, 'latin1') };
    case 'coding': {
      if (twist.value === CHUNKED) return { ...plain, isChunked: true };
      const body = plain.body ?? Buffer.from('{}');
      const coded = { ...plain, body: CODINGS[twist.value]?.(body) ?? body };
      return withHeader(coded, 'Content-Encoding', twist.value.split(/[?-]/)[0] ?? '');
    }
  }
}

const bombs = new Map<(bytes: Buffer) => Buffer, Buffer>();

/** Returns 20 MB of white space, which is compressed only once. */
function bomb(compress: (bytes: Buffer) => Buffer): Buffer {
  const compressed = bombs.get(compress) ?? compress(Buffer.alloc(20_000_000, ' '));
  bombs.set(compress, compressed);
  return compressed;
}

/** Replaces a header regardless of case, because otherwise both would be sent. */
function withHeader(plain: WireRequest, name: string, value: string | readonly string[] | null): WireRequest {
  const others = Object.entries(plain.headers ?? {}).filter(
    ([known]) => known.toLowerCase() !== name.toLowerCase(),
  );
  return { ...plain, headers: Object.fromEntries(value === null ? others : [...others, [name, value]]) };
}
