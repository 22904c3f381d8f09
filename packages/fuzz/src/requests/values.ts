import type { ResourceKind } from '@tocsin/contracts/routes/route';
import * as fc from 'fast-check';

/* References: ids and instants that are known only when a request is sent. */

export type Kind = ResourceKind | 'token';
/** Whose resource a reference names: the account's own, another account's, or one that the account has deleted. */
export type Source = 'own' | 'other' | 'deleted';

/** `@own:monitor:3` in a text: the id of a resource, counted from the newest. `:upper` writes it in capitals. */
export function referenceTo(kind: Kind): fc.Arbitrary<string> {
  const sources = mostly<Source>(fc.constant('own'), fc.constantFrom('other', 'deleted'));
  return fc.tuple(sources, fc.nat({ max: 5 })).map(([source, index]) => `@${source}:${kind}:${index}`);
}

/** `@hours:3` in a text: the instant three hours after the request is sent. */
function hoursFromNow(min: number, max: number): fc.Arbitrary<string> {
  return fc.integer({ min, max }).map((hours) => `@hours:${hours}`);
}

/** Replaces each reference in a text by its id or instant. */
export function resolveReferences(
  text: string,
  find: (source: Source, kind: Kind, index: number) => string,
): string {
  return text
    .replaceAll(
      /@(own|other|deleted):(\w+):(\d+)(:upper)?/g,
      (_, source: Source, kind: Kind, index: string, upper?: string) => {
        const id = find(source, kind, Number(index));
        return upper === undefined ? id : id.toUpperCase();
      },
    )
    .replaceAll(/@hours:(-?\d+)/g, (_, hours: string) =>
      new Date(Date.now() + Number(hours) * 3_600_000).toISOString(),
    );
}

/** Nine times in ten the first. */
export function mostly<T>(usual: fc.Arbitrary<T>, ...unusual: readonly fc.Arbitrary<T>[]): fc.Arbitrary<T> {
  const weight = 9 * unusual.length;
  return fc.oneof({ weight, arbitrary: usual }, ...unusual.map((arbitrary) => ({ weight: 1, arbitrary })));
}

/* Values of no schema. */

/** Texts with a meaning to JSON, URLs, SQL, headers, prototypes, terminals or storage. */
const HOSTILE_TEXTS = [
  ['', ' ', '\0', 'a\0b', '\ud800', 'a\udfffb', '\ufeff', '\u202e', '\u2028', 'İ', '👨‍👩‍👧‍👦', '\x1b[31m'],
  ['__proto__', 'constructor', 'prototype', 'toString', 'null', 'undefined', 'NaN', '1e309', '-0', '{}'],
  ['[]', "'; drop table monitors; --", '" or ""="', '%00', '%', '../../etc/passwd', '${7*7}'],
  ['<script>alert(1)</script>', '\r\nX-Injected: 1', 'ß'.repeat(200), '😀'.repeat(130)],
  ['e\u0301'.repeat(128), ...[255, 256, 10_001, 70_000].map((length) => 'a'.repeat(length))],
].flat();

export const hostileText: fc.Arbitrary<string> = fc.oneof(
  { weight: 3, arbitrary: fc.constantFrom(...HOSTILE_TEXTS) },
  { weight: 1, arbitrary: fc.string({ unit: 'binary', maxLength: 40 }) },
  // Any UTF-16 code units, lone surrogates among them.
  {
    weight: 1,
    arbitrary: fc.string({ unit: fc.integer({ min: 0, max: 0xffff }).map((c) => String.fromCharCode(c)) }),
  },
);

const oddNumbers = [0, -0, -1, 1, 5, 1.5, 2 ** 31, 2 ** 53, -(2 ** 53), 1e308, 5e-324];
/** JSON values of every type. */
export const anyJson: fc.Arbitrary<unknown> = fc.oneof(
  hostileText,
  fc.constantFrom<unknown>(null, true, false, ...oddNumbers),
  fc.constantFrom<unknown>(
    [],
    {},
    [[]],
    [null],
    { a: 1 },
    { toString: 1 },
    { constructor: { prototype: {} } },
  ),
  fc.jsonValue({ maxDepth: 2, stringUnit: 'binary' }),
);

/** An object with a repeated key. */
export const REPEATED_KEY = '{"a":1,"a":2}';

/** JSON that `JSON.stringify` never writes. */
export const oddJson: fc.Arbitrary<string> = fc.constantFrom(
  ...[
    ['1e309', '-1e309', '-0', '-0.0', '60.0', '6e1', '9007199254740993', '1'.repeat(400)],
    ['"\\ud800"', '"\\u0000"', '"\\uDC00\\uD800"', REPEATED_KEY],
    ['{"__proto__":{"polluted":true}}', '{"constructor":{"prototype":{"polluted":true}}}'],
    [`${'['.repeat(5_000)}${']'.repeat(5_000)}`],
    [`${'{"a":'.repeat(5_000)}1${'}'.repeat(5_000)}`],
  ].flat(),
);

/* Values of formats and fields whose rules no JSON Schema states. */

/** Names that never resolve (RFC 6761), and addresses: nothing outside of this machine is ever requested. */
const HOSTS = [
  ['hooks.invalid', 'xn--nxasmq6b.invalid', 'ä.invalid', 'a.invalid.', `${'a'.repeat(64)}.invalid`],
  ['', '[', 'a b', '..', 'localhost', '127.0.0.1', '127.1', '0x7f.1', '2130706433', '１２７.0.0.1'],
  ['%31%32%37.0.0.1', '10.0.0.1', '169.254.169.254', '192.0.2.1', '[::1]', '[::ffff:127.0.0.1]'],
  ['[fe80::1%25eth0]'],
].flat();
const SCHEMES = ['http://', 'HTTPS://', 'https:/', 'https:', 'ftp://', '//', 'javascript:', ''];
const PATHS = [
  '',
  '/hook?a=1#b',
  '/ä',
  '/%',
  '/%zz',
  '/a b',
  '/\\',
  '/\ud800',
  '/\0',
  `/${'a'.repeat(2_040)}`,
];
const url = fc
  .tuple(
    mostly(fc.constant('https://'), fc.constantFrom(...SCHEMES)),
    mostly(fc.constant(''), fc.constantFrom('@', 'user@', 'user:secret@', 'a%40b@')),
    mostly(fc.constant('a.invalid'), fc.constantFrom(...HOSTS)),
    mostly(fc.constant(''), fc.constantFrom(':443', ':0', ':65535', ':65536', ':x')),
    mostly(fc.constant('/'), fc.constantFrom(...PATHS)),
  )
  .map((parts) => parts.join(''));

const ODD_TIMESTAMPS = [
  ['0001-01-01T00:00:00Z', '0001-01-01T00:00:00+00:01', '0000-01-01T00:00:00Z', '2026-11-20', 'now'],
  ['2026-02-29T00:00:00Z', '2028-02-29T23:59:59.999999999Z', '2026-06-30T23:59:60Z', '1763640000000'],
  ['2030-01-01T12:00:00+23:59', '2030-01-01T12:00:00-0530', '9999-12-31T23:59:59.999Z'],
  ['9999-12-31T23:59:59.999-23:59', '+275760-09-13T00:00:00Z', '2026-11-20T24:00:00Z'],
  ['1969-12-31T23:59:59.999Z'],
].flat();

/** Mostly so many hours from now. */
function timestamps(min: number, max: number): fc.Arbitrary<string> {
  return mostly(
    hoursFromNow(min, max),
    hoursFromNow(-200_000, 200_000),
    fc.constantFrom(...ODD_TIMESTAMPS),
    hostileText,
  );
}

const RRULE_PARTS = [
  ['FREQ=SECONDLY', 'FREQ', '=', 'UNTIL=20271231T235959Z', 'UNTIL=99991231T235959Z', 'BYSETPOS=-366'],
  ['UNTIL=00010101T000000Z', 'UNTIL=20261332T250000Z', 'BYDAY=MO', 'BYDAY=-5SU', 'BYDAY=53MO', 'WKST=SU'],
  ['BYDAY=MO,TU,WE,TH,FR,SA,SU', 'BYMONTH=2', 'BYMONTH=13', 'BYMONTHDAY=30', 'BYMONTHDAY=31'],
  ['BYMONTHDAY=-31', 'BYYEARDAY=366', 'BYYEARDAY=-366', 'BYWEEKNO=53', 'BYWEEKNO=-53', 'BYHOUR=2'],
  ['BYHOUR=24', 'BYMINUTE=59', 'BYSETPOS=1', 'RSCALE=HEBREW', 'DTSTART=20260101', 'BYEASTER=0'],
  [0, 1, 2, 1_000, 1_001].map((number) => `INTERVAL=${number}`),
  [0, 1, 366, 367].map((number) => `COUNT=${number}`),
].flat();
const oddRrule = fc
  .tuple(
    fc.constantFrom('YEARLY', 'MONTHLY', 'WEEKLY', 'DAILY', 'HOURLY').map((word) => `FREQ=${word}`),
    fc.array(fc.constantFrom(...RRULE_PARTS), { maxLength: 4 }),
  )
  .map((parts) => parts.flat().join(';'));
const GOOD_RRULES = [
  ['FREQ=DAILY', 'FREQ=WEEKLY;BYDAY=SA', 'FREQ=MONTHLY;BYMONTHDAY=-1', 'FREQ=YEARLY;COUNT=3'],
  ['FREQ=HOURLY;INTERVAL=6'],
].flat();
const TIME_ZONES = [
  'america/new_york',
  'Pacific/Apia',
  'Etc/GMT+12',
  '+05:30',
  'EST5EDT',
  'Mars/Olympus',
  '',
  'UTC\0',
];
const EMAILS = ['a@b', '@', 'a@example.com\0', 'ä@example.com', 'a@@example.com', '"a b"@example.com'];
const HEADERS = [
  'X-A',
  'x-a',
  'Authorization',
  'Host',
  'Cookie',
  'Connection',
  'content-length',
  'X A',
  '',
  'ä',
];
const headers = fc.dictionary(
  fc.constantFrom(...HEADERS, '__proto__'),
  mostly(
    fc.string({ maxLength: 20 }),
    fc.constantFrom('', 'café', 'a\r\nb: c', '\0', '東', 'a'.repeat(8_193)),
  ),
  { maxKeys: 4 },
);
const manyHeaders = fc
  .constantFrom(49, 50, 51)
  .map((count) => Object.fromEntries(Array.from({ length: count }, (_, index) => [`X-${index}`, 'v'])));

const region = fc.constantFrom('default', 'eu-west-1', 'EU', '-a', '');

/** By the name of the field. */
export const FIELDS: Readonly<Record<string, fc.Arbitrary<unknown>>> = {
  startsAt: timestamps(1, 20),
  endsAt: timestamps(21, 40),
  expiresAt: timestamps(1, 1_000),
  since: timestamps(-100, 0),
  until: timestamps(1, 100),
  rrule: mostly(fc.constantFrom(...GOOD_RRULES), oddRrule),
  timeZone: mostly(
    fc.constantFrom('UTC', 'Europe/Berlin', 'Australia/Lord_Howe'),
    fc.constantFrom(...TIME_ZONES),
  ),
  token: mostly(referenceTo('token'), hostileText),
  headers: mostly<object>(headers, manyHeaders),
  // Few of them, so that they collide.
  externalId: fc.constantFrom('one', 'two', ' two ', 'Ö', '\ud83d'),
  source: fc.constantFrom('terraform', 'one'),
  regions: mostly<string[]>(
    fc.constantFrom([], ['default'], ['default', 'eu-west-1'], ['eu-west-1']),
    fc.array(region, { maxLength: 21 }),
    fc.constant(['elsewhere']),
  ),
};

/** By the format that a JSON Schema names. */
export const FORMATS: Readonly<Record<string, fc.Arbitrary<unknown>>> = {
  uri: url,
  'date-time': timestamps(-100, 100),
  uuid: mostly(
    referenceTo('monitor'),
    referenceTo('monitor').map((reference) => `${reference}:upper`),
    fc.oneof(fc.uuid(), fc.constantFrom('', 'x', '0'.repeat(32), 'ffffffff-ffff-ffff-ffff-ffffffffffff')),
  ),
  email: mostly(
    fc.integer({ min: 0, max: 9_999 }).map((number) => `User${number}@example.com`),
    fc.constantFrom(...EMAILS, `${'a'.repeat(250)}@example.com`),
  ),
};
