import * as fc from 'fast-check';
import { hostileText, hoursFromNow, referenceTo } from './values.ts';

/* Texts whose form no schema says in a way that can be read from it, by the name of their field. */

/** Names that never resolve (RFC 6761), and addresses that the guard lets pass or does not: nothing outside is ever asked. */
const HOSTS = [
  'a.invalid',
  'hooks.invalid',
  'xn--nxasmq6b.invalid',
  'ä.invalid',
  'a.invalid.',
  'localhost',
  '127.0.0.1',
  '127.1',
  '0x7f.1',
  '2130706433',
  '169.254.169.254',
  '10.0.0.1',
  '192.0.2.1',
  '[::1]',
  '[::ffff:127.0.0.1]',
  '[fe80::1%25eth0]',
  '１２７.0.0.1',
  '%31%32%37.0.0.1',
  '',
  '[',
  'a b',
  '..',
  `${'a'.repeat(64)}.invalid`,
];
const PORTS = ['', ':443', ':0', ':65535', ':65536', ':x'];
const PATHS = [
  '',
  '/',
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

const url: fc.Arbitrary<string> = fc
  .tuple(
    fc.oneof(
      { weight: 8, arbitrary: fc.constant('https://') },
      {
        weight: 2,
        arbitrary: fc.constantFrom(
          'http://',
          'HTTPS://',
          'https:/',
          'https:',
          'ftp://',
          '//',
          'javascript:',
          '',
        ),
      },
    ),
    fc.oneof(
      { weight: 9, arbitrary: fc.constant('') },
      { weight: 1, arbitrary: fc.constantFrom('@', 'user@', 'user:secret@', 'a%40b@') },
    ),
    fc.oneof(
      { weight: 2, arbitrary: fc.constant('a.invalid') },
      { weight: 1, arbitrary: fc.constantFrom(...HOSTS) },
    ),
    fc.oneof({ weight: 4, arbitrary: fc.constant('') }, { weight: 1, arbitrary: fc.constantFrom(...PORTS) }),
    fc.oneof({ weight: 2, arbitrary: fc.constant('/') }, { weight: 1, arbitrary: fc.constantFrom(...PATHS) }),
  )
  .map((parts) => parts.join(''));

const ODD_TIMESTAMPS = [
  '0001-01-01T00:00:00Z',
  '0001-01-01T00:00:00+00:01',
  '0000-01-01T00:00:00Z',
  '1969-12-31T23:59:59.999Z',
  '2026-02-29T00:00:00Z',
  '2028-02-29T23:59:59.999999999Z',
  '2026-06-30T23:59:60Z',
  '2026-11-20T24:00:00Z',
  '2030-01-01T12:00:00+23:59',
  '2030-01-01T12:00:00-0530',
  '9999-12-31T23:59:59.999Z',
  '9999-12-31T23:59:59.999-23:59',
  '+275760-09-13T00:00:00Z',
  '2026-11-20',
  '1763640000000',
  'now',
];

/** Mostly so many hours from now. */
function timestamps(min: number, max: number): fc.Arbitrary<string> {
  return fc.oneof(
    { weight: 6, arbitrary: hoursFromNow(min, max) },
    { weight: 1, arbitrary: hoursFromNow(-200_000, 200_000) },
    { weight: 1, arbitrary: fc.constantFrom(...ODD_TIMESTAMPS) },
    { weight: 1, arbitrary: hostileText },
  );
}

const rrulePart = fc.oneof(
  fc.constantFrom('FREQ=YEARLY', 'FREQ=MONTHLY', 'FREQ=WEEKLY', 'FREQ=DAILY', 'FREQ=HOURLY', 'FREQ=SECONDLY'),
  fc.integer({ min: 0, max: 1_001 }).map((number) => `INTERVAL=${number}`),
  fc.integer({ min: 0, max: 367 }).map((number) => `COUNT=${number}`),
  fc.constantFrom(
    'UNTIL=20271231T235959Z',
    'UNTIL=99991231T235959Z',
    'UNTIL=00010101T000000Z',
    'UNTIL=20261332T250000Z',
  ),
  fc.constantFrom('BYDAY=MO', 'BYDAY=-5SU', 'BYDAY=53MO', 'BYDAY=MO,TU,WE,TH,FR,SA,SU', 'WKST=SU'),
  fc.constantFrom(
    'BYMONTH=2',
    'BYMONTH=13',
    'BYMONTHDAY=30',
    'BYMONTHDAY=31',
    'BYMONTHDAY=-31',
    'BYYEARDAY=366',
    'BYYEARDAY=-366',
  ),
  fc.constantFrom(
    'BYWEEKNO=53',
    'BYWEEKNO=-53',
    'BYHOUR=2',
    'BYHOUR=24',
    'BYMINUTE=59',
    'BYSETPOS=-366',
    'BYSETPOS=1',
  ),
  fc.constantFrom('RSCALE=HEBREW', 'DTSTART=20260101', 'BYEASTER=0', 'FREQ', '='),
);
const oddRrule = fc
  .tuple(
    fc.constantFrom('FREQ=YEARLY', 'FREQ=MONTHLY', 'FREQ=WEEKLY', 'FREQ=DAILY', 'FREQ=HOURLY'),
    fc.array(rrulePart, { maxLength: 4 }),
  )
  .map((parts) => parts.flat().join(';'));

const GOOD_RRULES = [
  'FREQ=DAILY',
  'FREQ=WEEKLY;BYDAY=SA',
  'FREQ=MONTHLY;BYMONTHDAY=-1',
  'FREQ=YEARLY;COUNT=3',
  'FREQ=HOURLY;INTERVAL=6',
];
const rrule = fc.oneof(
  { weight: 1, arbitrary: fc.constantFrom(...GOOD_RRULES) },
  { weight: 1, arbitrary: oddRrule },
);

const timeZone = fc.constantFrom(
  'UTC',
  'Europe/Berlin',
  'america/new_york',
  'Australia/Lord_Howe',
  'Pacific/Apia',
  'Etc/GMT+12',
  '+05:30',
  'GMT',
  'EST5EDT',
  'Mars/Olympus',
  '',
  'UTC\0',
);

const email = fc.oneof(
  fc.integer({ min: 0, max: 9_999 }).map((number) => `User${number}@example.com`),
  fc.constantFrom(
    'a@b',
    '@',
    'a@example.com\0',
    'ä@example.com',
    'a@@example.com',
    `${'a'.repeat(250)}@example.com`,
    '"a b"@example.com',
  ),
);

const headerName = fc.constantFrom(
  'X-A',
  'x-a',
  'Authorization',
  'Host',
  'Cookie',
  'Connection',
  'content-length',
  'X A',
  '',
  '__proto__',
  'ä',
  'TE',
);
const headerValue = fc.oneof(
  fc.constantFrom('v', '', 'café', 'a\r\nb: c', '\0', '東', 'a'.repeat(8_193)),
  fc.string({ maxLength: 20 }),
);
const headers = fc.oneof(
  { weight: 4, arbitrary: fc.dictionary(headerName, headerValue, { maxKeys: 4 }) },
  {
    weight: 1,
    arbitrary: fc
      .constantFrom(49, 50, 51)
      .map((count) => Object.fromEntries(Array.from({ length: count }, (_, index) => [`X-${index}`, 'v']))),
  },
);

/** Candidates for a field of this name; undefined: its schema alone says. */
export function valuesOfField(name: string): fc.Arbitrary<unknown> | undefined {
  return Object.hasOwn(FIELDS, name) ? FIELDS[name] : undefined;
}

/** Values of a field that also keep the rules which its schema does not say; undefined: those of the schema do. */
export function soundValuesOfField(name: string): fc.Arbitrary<unknown> | undefined {
  return Object.hasOwn(SOUND, name) ? SOUND[name] : undefined;
}

const SOUND: Readonly<Record<string, fc.Arbitrary<unknown>>> = {
  startsAt: hoursFromNow(1, 20),
  endsAt: hoursFromNow(21, 40),
  rrule: fc.constantFrom(...GOOD_RRULES),
  timeZone: fc.constantFrom('UTC', 'Europe/Berlin', 'Australia/Lord_Howe'),
  monitorIds: fc.nat({ max: 5 }).map((index) => [`@own:monitor:${index}`]),
  token: fc.constant('@own:token:0'),
};

const FIELDS: Readonly<Record<string, fc.Arbitrary<unknown>>> = {
  url,
  runbookUrl: url,
  startsAt: timestamps(1, 20),
  endsAt: timestamps(21, 40),
  expiresAt: timestamps(1, 1_000),
  since: timestamps(-100, 0),
  until: timestamps(1, 100),
  rrule,
  timeZone,
  email,
  token: fc.oneof({ weight: 3, arbitrary: referenceTo('token') }, { weight: 1, arbitrary: hostileText }),
  headers,
  // Few of them, so that they collide.
  externalId: fc.constantFrom('one', 'two', ' two ', 'Ö', '\ud83d'),
  source: fc.constantFrom('terraform', 'one'),
  regions: fc.oneof(
    fc.constantFrom(
      [],
      ['default'],
      ['default', 'eu-west-1'],
      ['eu-west-1'],
      ['elsewhere'],
      ['default', 'default'],
    ),
    fc.array(fc.constantFrom('default', 'eu-west-1', 'EU', '-a', ''), { maxLength: 21 }),
  ),
};
