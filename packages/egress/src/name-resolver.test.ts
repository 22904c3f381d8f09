import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import dns, { type LookupAddress, type LookupOptions } from 'node:dns';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import type { networkInterfaces } from 'node:os';
import os from 'node:os';
import path from 'node:path';
import { createNameResolver, type NameResolverOptions } from './name-resolver.ts';
import { DnsServer } from './testing/dns-server.ts';

type Interfaces = ReturnType<typeof networkInterfaces>;

/** A busy machine must not ask twice: tests count the questions. */
const PATIENT_MS = 600_000;
const HOSTS = `
127.0.0.1 localhost
10.0.0.7  db.internal db   # the old one
10.0.0.8  db
fd00::7   DB
not-an-address broken
`;
const RESOLV_CONF = `
# search nothing.test
nameserver 192.0.2.1
search first.test second.test.
options edns0 ndots:2
`;

let folder: string;
let server: DnsServer;
let clock: number;
beforeAll(async () => {
  folder = await mkdtemp(path.join(os.tmpdir(), 'names-'));
  server = await DnsServer.start({
    'both.example.org': ['192.0.2.10', '2001:db8::10'],
    'four.example.org': ['192.0.2.4'],
    'broken.example.org': 'failure',
    'silent.example.org': 'silence',
    'half.example.org': 'no IPv6',
    'short.second.test': ['192.0.2.2'],
    'broken.first.test': 'failure',
    'broken.second.test': ['192.0.2.3'],
    short: ['192.0.2.99'],
  });
});
afterAll(async () => {
  await server.stop();
  await rm(folder, { recursive: true });
});
beforeEach(async () => {
  clock = 0;
  server.asked.length = 0;
  await writeFile(path.join(folder, 'hosts'), HOSTS);
  await writeFile(path.join(folder, 'resolv.conf'), RESOLV_CONF);
});

const BOTH: LookupOptions = { family: 0 };

/** A resolver of these files and this server. */
function resolver(
  options: NameResolverOptions = {},
): (name: string, given?: LookupOptions) => Promise<readonly string[] | string> {
  const lookup = createNameResolver({
    hostsFile: path.join(folder, 'hosts'),
    configFile: path.join(folder, 'resolv.conf'),
    servers: [server.address],
    answerWithinMs: PATIENT_MS,
    now: () => clock,
    ...options,
  });
  return (name, given = BOTH) =>
    new Promise((resolve) => {
      lookup(
        name,
        { ...given, all: true },
        (error: NodeJS.ErrnoException | null, addresses: LookupAddress[]) => {
          resolve(error === null ? addresses.map(({ address }) => address) : (error.code ?? ''));
        },
      );
    });
}

describe('the hosts file', () => {
  test.each([
    ['db.internal', ['10.0.0.7']],
    ['db', ['10.0.0.7', '10.0.0.8', 'fd00::7']],
    ['DB.', ['10.0.0.7', '10.0.0.8', 'fd00::7']],
  ])('knows %s, and no server is asked', async (name, addresses) => {
    expect(await resolver()(name)).toEqual(addresses);
    expect(server.asked).toEqual([]);
  });

  test('is read again after it was changed', async () => {
    const resolve = resolver();
    expect(await resolve('four.example.org')).toEqual(['192.0.2.4']);
    await writeFile(path.join(folder, 'hosts'), '10.0.0.9 four.example.org');
    clock = 60_000;
    expect(await resolve('four.example.org')).toEqual(['10.0.0.9']);
  });

  test('need not exist', async () => {
    expect(await resolver({ hostsFile: path.join(folder, 'none') })('four.example.org')).toEqual([
      '192.0.2.4',
    ]);
  });

  test('that has a name in the other family only: the name has no address', async () => {
    expect(await resolver()('db.internal', { family: 6 })).toBe('ENOTFOUND');
    expect(server.asked).toEqual([]);
  });
});

test.each([
  ['localhost', ['127.0.0.1']],
  ['shop.localhost', ['::1', '127.0.0.1']],
])('%s is this machine, and no server is asked', async (name, addresses) => {
  expect(await resolver()(name)).toEqual(addresses);
  expect(server.asked).toEqual([]);
});

describe('search domains', () => {
  test('come first for a name with few dots', async () => {
    expect(await resolver()('short', { family: 4 })).toEqual(['192.0.2.2']);
    expect(server.asked).toEqual(['short.first.test A', 'short.second.test A']);
  });

  test('come last for a name with many dots', async () => {
    expect(await resolver()('no.such.example', { family: 4 })).toBe('ENOTFOUND');
    expect(server.asked).toEqual([
      'no.such.example A',
      'no.such.example.first.test A',
      'no.such.example.second.test A',
    ]);
  });

  test('do not count for a name that ends in a dot', async () => {
    expect(await resolver()('short.', { family: 4 })).toEqual(['192.0.2.99']);
    expect(server.asked).toEqual(['short A']);
  });

  test('go on after one whose server fails', async () => {
    expect(await resolver()('broken', { family: 4 })).toEqual(['192.0.2.3']);
  });

  test('need no file', async () => {
    expect(await resolver({ configFile: path.join(folder, 'none') })('short', { family: 4 })).toEqual([
      '192.0.2.99',
    ]);
    expect(server.asked).toEqual(['short A']);
  });
});

describe('families', () => {
  const address = (value: string, family: 'IPv4' | 'IPv6', internal = false): os.NetworkInterfaceInfo =>
    ({
      address: value,
      family,
      internal,
      netmask: '',
      mac: '',
      cidr: null,
      scopeid: 0,
    }) as os.NetworkInterfaceInfo;
  const machine =
    (...addresses: os.NetworkInterfaceInfo[]) =>
    (): Interfaces => ({ eth0: addresses });
  const loopback = [address('127.0.0.1', 'IPv4', true), address('::1', 'IPv6', true)];
  const HINTS: LookupOptions = { family: 0, hints: dns.ADDRCONFIG };

  test.each<[string, () => Interfaces, readonly string[]]>([
    ['IPv4 alone', machine(...loopback, address('192.0.2.77', 'IPv4')), ['A']],
    [
      'IPv4 and a link-local IPv6 address',
      machine(address('192.0.2.77', 'IPv4'), address('fe80::1', 'IPv6')),
      ['A'],
    ],
    ['IPv6 alone', machine(...loopback, address('2001:db8::77', 'IPv6')), ['AAAA']],
    ['both', machine(address('192.0.2.77', 'IPv4'), address('2001:db8::77', 'IPv6')), ['A', 'AAAA']],
    ['loopback alone', machine(...loopback), ['A', 'AAAA']],
  ])('of a machine with %s are asked for where the caller wants it', async (_, interfaces, kinds) => {
    await resolver({ interfaces })('both.example.org', HINTS);
    expect(server.asked.toSorted()).toEqual(kinds.map((kind) => `both.example.org ${kind}`));
  });

  test('are both asked for otherwise, and IPv6 comes first', async () => {
    const interfaces = machine(address('192.0.2.77', 'IPv4'));
    expect(await resolver({ interfaces })('both.example.org')).toEqual(['2001:db8::10', '192.0.2.10']);
  });

  test('of which one has no address do not matter', async () => {
    expect(await resolver()('four.example.org')).toEqual(['192.0.2.4']);
  });

  test('of which one is not answered are not waited for', async () => {
    expect(await resolver()('half.example.org')).toEqual(['127.0.0.1']);
  });
});

test.each([
  ['does not exist', 'none.example.org', 'ENOTFOUND'],
  ['cannot exist', `${'x'.repeat(64)}.example.org`, 'ENOTFOUND'],
  ['has a server that fails', 'broken.example.org', 'EAI_AGAIN'],
  ['has a server that does not answer', 'silent.example.org', 'EAI_AGAIN'],
])('a name that %s', async (_, name, code) => {
  expect(await resolver({ answerWithinMs: name.startsWith('silent') ? 50 : PATIENT_MS })(name)).toBe(code);
});

test('a thousand names that nobody answers do not delay one that is answered', async () => {
  const resolve = resolver();
  const names = Array.from({ length: 1_000 }, (_, index) => `${index}.silent.example.org`);
  for (const name of names) server.zone.set(name, 'silence');
  let ended = 0;
  for (const name of names) void resolve(name).then(() => (ended += 1));
  expect(await resolve('four.example.org')).toEqual(['192.0.2.4']);
  expect(ended).toBe(0);
});
