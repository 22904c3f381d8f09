import type { ResourceKind } from '@tocsin/contracts/routes/route';
import * as fc from 'fast-check';

/*
 * Field values: references to ids and instants that are known only when a request is sent, hostile values, and values for formats and
 * fields whose rules the JSON Schemas do not state.
 */

export type Kind = ResourceKind | 'token' | 'externalId';
/** A reference names a resource of this account or of another one, or a resource that this account has deleted. */
export type Source = 'own' | 'other' | 'deleted';

/**
 * In a text, `@own:monitor:3` stands for the id of a resource, or for the percent-encoded `externalId` of a monitor, counted from the
 * newest. `:upper` writes it in capitals.
 */
export function referenceTo(kind: Kind): fc.Arbitrary<string> {
  const sources = mostly<Source>(fc.constant('own'), fc.constantFrom('other', 'deleted'));
  return fc.tuple(sources, fc.nat({ max: 5 })).map(([source, index]) => `@${source}:${kind}:${index}`);
}

/** In a text, `@hours:3` stands for the instant three hours after the request is sent. */
function hoursFromNow(min: number, max: number): fc.Arbitrary<string> {
  return fc.integer({ min, max }).map((hours) => `@hours:${hours}`);
}

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

/** Picks a word from a text, or another text. */
export function oneOf(
  words: string,
  ...others: readonly (string | readonly string[])[]
): fc.Arbitrary<string> {
  return fc.constantFrom(...words.split(/\s+/), ...others.flat());
}

/** Picks the first in nine of ten cases. */
export function mostly<T>(usual: fc.Arbitrary<T>, ...unusual: readonly fc.Arbitrary<T>[]): fc.Arbitrary<T> {
  const weight = 9 * unusual.length;
  return fc.oneof({ weight, arbitrary: usual }, ...unusual.map((arbitrary) => ({ weight: 1, arbitrary })));
}

/** Texts with a special meaning in JSON, URLs, SQL, headers, prototypes, terminals or storage. */
const hostileWords = oneOf(
  `__proto__ constructor prototype toString null undefined NaN 1e309 -0 {} [] %00 % ../../etc/passwd \${7*7}
  <script>alert(1)</script> İ 👨‍👩‍👧‍👦`,
  ['', ' ', '\0', 'a\0b', '\ud800', 'a\udfffb', '\ufeff', '\u202e', '\u2028', '\x1b[31m'],
  ["'; drop table monitors; --", '" or ""="', '\r\nX-Injected: 1'],
  ['ß'.repeat(200), '😀'.repeat(130), 'e\u0301'.repeat(128)],
  [255, 256, 10_001, 70_000].map((length) => 'a'.repeat(length)),
);

export const hostileText: fc.Arbitrary<string> = fc.oneof(
  { weight: 3, arbitrary: hostileWords },
  { weight: 1, arbitrary: fc.string({ unit: 'binary', maxLength: 40 }) },
  // Arbitrary UTF-16 code units, including lone surrogates.
  { weight: 1, arbitrary: fc.string({ unit: fc.nat(0xffff).map((code) => String.fromCharCode(code)) }) },
);

export const anyJson: fc.Arbitrary<unknown> = fc.oneof(
  hostileText,
  fc.constantFrom(null, true, false, 0, -0, -1, 1, 5, 1.5, 2 ** 31, 2 ** 53, -(2 ** 53), 1e308, 5e-324),
  oneOf('[] {} [[]] [null] {"a":1} {"toString":1} {"constructor":{"prototype":{}}}').map((json): unknown =>
    JSON.parse(json),
  ),
  fc.jsonValue({ maxDepth: 2, stringUnit: 'binary' }),
);

export const REPEATED_KEY = '{"a":1,"a":2}';

/** JSON that `JSON.stringify` never produces. */
export const oddJson: fc.Arbitrary<string> = oneOf(
  String.raw`1e309 -1e309 -0 -0.0 60.0 6e1 9007199254740993 "\ud800" "\u0000" "\uDC00\uD800"
  {"__proto__":{"polluted":true}} {"constructor":{"prototype":{"polluted":true}}}`,
  ['1'.repeat(400), `${'['.repeat(5_000)}${']'.repeat(5_000)}`, REPEATED_KEY],
  `${'{"a":'.repeat(5_000)}1${'}'.repeat(5_000)}`,
);

/** Hosts are names that never resolve (RFC 6761), and addresses. Nothing outside this machine is ever requested. */
const url = fc
  .tuple(
    mostly(oneOf('https://'), oneOf('http:// HTTPS:// https:/ https: ftp:// // javascript:', '')),
    mostly(oneOf(''), oneOf('@ user@ user:secret@ a%40b@')),
    mostly(
      oneOf('a.invalid'),
      oneOf(
        `hooks.invalid xn--nxasmq6b.invalid ä.invalid a.invalid. [ .. localhost 127.0.0.1 127.1 0x7f.1 2130706433
        １２７.0.0.1 %31%32%37.0.0.1 10.0.0.1 169.254.169.254 192.0.2.1 [::1] [::ffff:127.0.0.1]`,
        ['[fe80::1%25eth0]', '', 'a b', `${'a'.repeat(64)}.invalid`],
      ),
    ),
    mostly(oneOf(''), oneOf(':443 :0 :65535 :65536 :x')),
    mostly(
      oneOf('/'),
      oneOf('/hook?a=1#b /ä /% /%zz /\\', '', '/a b', '/\ud800', '/\0', `/${'a'.repeat(2_040)}`),
    ),
  )
  .map((parts) => parts.join(''));

const oddTimestamp = oneOf(
  `0001-01-01T00:00:00Z 0001-01-01T00:00:00+00:01 0000-01-01T00:00:00Z 2026-11-20 now 1763640000000
  2026-02-29T00:00:00Z 2028-02-29T23:59:59.999999999Z 2026-06-30T23:59:60Z 2026-11-20T24:00:00Z
  2030-01-01T12:00:00+23:59 2030-01-01T12:00:00-0530 1969-12-31T23:59:59.999Z
  9999-12-31T23:59:59.999Z 9999-12-31T23:59:59.999-23:59 +275760-09-13T00:00:00Z`,
);

/** Most timestamps are within this range of hours from now. */
function timestamps(min: number, max: number): fc.Arbitrary<string> {
  return mostly(hoursFromNow(min, max), hoursFromNow(-200_000, 200_000), oddTimestamp, hostileText);
}

const rrulePart = oneOf(
  `FREQ=SECONDLY FREQ = UNTIL=20271231T235959Z UNTIL=99991231T235959Z UNTIL=00010101T000000Z
  UNTIL=20261332T250000Z BYSETPOS=1 BYSETPOS=-366 BYDAY=MO BYDAY=-5SU BYDAY=53MO BYDAY=MO,TU,WE,TH,FR,SA,SU
  BYMONTH=2 BYMONTH=13 BYMONTHDAY=30 BYMONTHDAY=31 BYMONTHDAY=-31 BYYEARDAY=366 BYYEARDAY=-366 BYWEEKNO=53
  BYWEEKNO=-53 BYHOUR=2 BYHOUR=24 BYMINUTE=59 WKST=SU RSCALE=HEBREW DTSTART=20260101 BYEASTER=0
  INTERVAL=0 INTERVAL=1 INTERVAL=2 INTERVAL=1000 INTERVAL=1001 COUNT=0 COUNT=1 COUNT=366 COUNT=367`,
);
const oddRrule = fc
  .tuple(oneOf('YEARLY MONTHLY WEEKLY DAILY HOURLY'), fc.array(rrulePart, { maxLength: 4 }))
  .map(([frequency, parts]) => [`FREQ=${frequency}`, ...parts].join(';'));
const goodRrule = oneOf(
  'FREQ=DAILY FREQ=WEEKLY;BYDAY=SA FREQ=MONTHLY;BYMONTHDAY=-1 FREQ=YEARLY;COUNT=3 FREQ=HOURLY;INTERVAL=6',
);

function objectOf(count: number, prefix: string): Record<string, string> {
  return Object.fromEntries(Array.from({ length: count }, (_, index) => [`${prefix}${index}`, 'v']));
}

const headers = fc.dictionary(
  oneOf('X-A x-a Authorization Host Cookie Connection content-length ä __proto__', 'X A', ''),
  mostly(fc.string({ maxLength: 20 }), oneOf('café 東', '', 'a\r\nb: c', '\0', 'a'.repeat(8_193))),
  { maxKeys: 4 },
);
const manyHeaders = fc.constantFrom(49, 50, 51).map((count) => objectOf(count, 'X-'));

// A small set, so that selectors match.
const labelKey = mostly(oneOf('app tier'), oneOf('example.com/team constructor'), hostileText);
const labelValue = mostly(oneOf('shop web', ''), oneOf('Z-y_x.0 a.', 'a'.repeat(64)), hostileText);
const labels = fc.dictionary(labelKey, labelValue, { maxKeys: 3 });
const manyLabels = fc.constantFrom(31, 32, 33).map((count) => objectOf(count, 'l'));
const requirement = fc.record(
  {
    key: labelKey,
    operator: mostly(oneOf('In NotIn Exists DoesNotExist'), oneOf('in Gt', '')),
    values: mostly(fc.array(labelValue, { maxLength: 2 }), fc.constant(Array(101).fill('web'))),
  },
  { requiredKeys: ['key', 'operator'] },
);
const selector = fc.record(
  { matchLabels: labels, matchExpressions: fc.array(requirement, { maxLength: 2 }) },
  { requiredKeys: [] },
);
const externalId = oneOf('one two Ö', ' two ', '\ud83d');

export const FIELDS: Readonly<Record<string, fc.Arbitrary<unknown>>> = {
  startsAt: timestamps(1, 20),
  endsAt: timestamps(21, 40),
  expiresAt: timestamps(1, 1_000),
  since: timestamps(-100, 0),
  until: timestamps(1, 100),
  rrule: mostly(goodRrule, oddRrule),
  timeZone: mostly(
    oneOf('UTC Europe/Berlin Australia/Lord_Howe'),
    oneOf('america/new_york Pacific/Apia Etc/GMT+12 +05:30 EST5EDT Mars/Olympus', '', 'UTC\0'),
  ),
  token: mostly(referenceTo('token'), hostileText),
  headers: mostly<object>(headers, manyHeaders),
  labels: mostly<unknown>(labels, manyLabels, anyJson),
  selector: mostly<unknown>(selector, fc.constant(null), anyJson),
  // A small set, so that they collide.
  externalId,
  externalIds: mostly<string[]>(fc.constant([]), fc.array(externalId, { maxLength: 3 })),
  source: oneOf('terraform one'),
  monitorExternalIds: fc.uniqueArray(mostly(oneOf('one two Ö'), hostileText), { maxLength: 3 }),
  regions: mostly<string[]>(
    fc.constantFrom([], ['default'], ['default', 'eu-west-1'], ['eu-west-1']),
    fc.array(oneOf('default eu-west-1 EU -a', ''), { maxLength: 21 }),
    fc.constant(['elsewhere']),
  ),
  region: mostly(oneOf('default eu-west-1'), oneOf('EU -a elsewhere', '')),
};

export const FORMATS: Readonly<Record<string, fc.Arbitrary<unknown>>> = {
  iri: url,
  'date-time': timestamps(-100, 100),
  uuid: mostly(
    referenceTo('monitor'),
    referenceTo('monitor').map((reference) => `${reference}:upper`),
    fc.oneof(fc.uuid(), oneOf('x ffffffff-ffff-ffff-ffff-ffffffffffff', '', '0'.repeat(32))),
  ),
  email: mostly(
    fc.nat(9_999).map((number) => `User${number}@example.com`),
    oneOf('a@b @ ä@example.com a@@example.com', [
      'a@example.com\0',
      '"a b"@example.com',
      `${'a'.repeat(250)}@example.com`,
    ]),
  ),
};
