import dns, { type LookupOptions } from 'node:dns';
import { writeFile } from 'node:fs/promises';
import type os from 'node:os';
import type { networkInterfaces } from 'node:os';
import path from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { until } from '@tocsin/embedded/testing/until';
import type { DnsServer } from '../testing/dns-server.ts';
import { NO_EVENTS, PATIENT_MS, startTestResolvers, type TestResolvers } from '../testing/test-resolvers.ts';
import { createNameResolver } from './name-resolver.ts';

type Interfaces = ReturnType<typeof networkInterfaces>;

let resolvers: TestResolvers;
let folder: string;
let server: DnsServer;
let resolver: TestResolvers['resolver'];
let clock: number;
afterEach(() => {
  resolvers.stopLookups();
});
beforeAll(async () => {
  resolvers = await startTestResolvers(() => clock);
  ({ folder, server, resolver } = resolvers);
});
afterAll(() => resolvers.stop());
beforeEach(async () => {
  clock = 0;
  await resolvers.reset();
});

describe('the hosts file', () => {
  test.each([
    ['db.internal', ['10.0.0.7']],
    ['db', ['10.0.0.7', '10.0.0.8', 'fd00::7']],
    ['DB.', ['10.0.0.7', '10.0.0.8', 'fd00::7']],
  ])('resolves %s without a server', async (name, addresses) => {
    expect(await resolver()(name)).toEqual(addresses);
    expect(server.asked).toEqual([]);
  });

  test('is read again after it has changed', async () => {
    const resolve = resolver();
    expect(await resolve('four.example.org')).toEqual(['192.0.2.4']);
    await writeFile(path.join(folder, 'hosts'), '10.0.0.9 four.example.org');
    clock = 60_000;
    expect(await resolve('four.example.org')).toEqual(['10.0.0.9']);
  });

  test('may be missing', async () => {
    expect(await resolver({ hostsFile: path.join(folder, 'none') })('four.example.org')).toEqual([
      '192.0.2.4',
    ]);
  });

  test('gives no address if the name is only in the other family', async () => {
    expect(await resolver()('db.internal', { family: 6 })).toBe('ENOTFOUND');
    expect(server.asked).toEqual([]);
  });
});

test.each([
  ['localhost', ['127.0.0.1']],
  ['shop.localhost', ['::1', '127.0.0.1']],
])('%s is this machine, without a query', async (name, addresses) => {
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

  test('are skipped if their server fails', async () => {
    expect(await resolver()('broken', { family: 4 })).toEqual(['192.0.2.3']);
  });

  test('whose servers hang leave time for the name itself', async () => {
    expect(await resolver({ respondWithinMs: 50 })('hangs', { family: 4 })).toEqual(['192.0.2.98']);
  });

  test('do not need a file', async () => {
    expect(await resolver({ configFile: path.join(folder, 'none') })('short', { family: 4 })).toEqual([
      '192.0.2.99',
    ]);
    expect(server.asked).toEqual(['short A']);
  });
});

describe('families', () => {
  const address = (value: string, family: 'IPv4' | 'IPv6', internal = false): os.NetworkInterfaceInfo => ({
    address: value,
    family,
    internal,
    netmask: '',
    mac: '',
    cidr: null,
    scopeid: 0,
  });
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
    [
      'IPv6 and a link-local IPv4 address',
      machine(address('2001:db8::77', 'IPv6'), address('169.254.172.3', 'IPv4')),
      ['A', 'AAAA'],
    ],
  ])('of a machine with %s are queried if the caller wants it', async (_, interfaces, kinds) => {
    await resolver({ interfaces })('both.example.org', HINTS);
    expect(server.asked.toSorted()).toEqual(kinds.map((kind) => `both.example.org ${kind}`));
  });

  test('are both queried otherwise, IPv6 first', async () => {
    const interfaces = machine(address('192.0.2.77', 'IPv4'));
    expect(await resolver({ interfaces })('both.example.org')).toEqual(['2001:db8::10', '192.0.2.10']);
  });

  test('start with IPv4 if the only IPv6 addresses are unique local ones', async () => {
    const interfaces = machine(address('192.0.2.77', 'IPv4'), address('fd12:3456::77', 'IPv6'));
    const addresses = await resolver({ interfaces })('both.example.org', HINTS);
    expect(addresses).toEqual(['192.0.2.10', '2001:db8::10']);
  });

  test('without an address are ignored', async () => {
    expect(await resolver()('four.example.org')).toEqual(['192.0.2.4']);
  });

  test('do not include IPv6 for two minutes after a name had only IPv4 addresses', async () => {
    const resolve = resolver();
    const askedAt = async (ms: number): Promise<readonly string[]> => {
      clock = ms;
      server.asked.length = 0;
      expect(await resolve('four.example.org')).toEqual(['192.0.2.4']);
      return server.asked.toSorted();
    };
    const both = ['four.example.org A', 'four.example.org AAAA'];
    expect(await askedAt(0)).toEqual(both);
    expect(await askedAt(119_999)).toEqual(['four.example.org A']);
    expect(await askedAt(120_000)).toEqual(both);
  });

  test('include IPv6 as soon as a name has no IPv4 addresses any more', async () => {
    const resolve = resolver();
    server.zone.set('moving.example.org', ['192.0.2.20']);
    expect(await resolve('moving.example.org')).toEqual(['192.0.2.20']);
    server.zone.set('moving.example.org', ['2001:db8::20']);
    expect(await resolve('moving.example.org')).toEqual(['2001:db8::20']);
    server.zone.delete('moving.example.org');
    expect(await resolve('moving.example.org')).toBe('ENOTFOUND');
  });

  test('do not include IPv6 if its query gets no response', async () => {
    expect(await resolver()('half.example.org')).toEqual(['127.0.0.1']);
  });

  test('include IPv4 if its first query is lost', async () => {
    server.lost.add('both.example.org A');
    expect(await resolver({ respondWithinMs: 1_500 })('both.example.org')).toEqual([
      '2001:db8::10',
      '192.0.2.10',
    ]);
  });

  test('include IPv4 if its first query is refused', async () => {
    server.refused.add('both.example.org A');
    expect(await resolver()('both.example.org')).toEqual(['2001:db8::10', '192.0.2.10']);
  });
});

test.each([
  ['does not exist', 'none.example.org', 'ENOTFOUND'],
  ['cannot exist', `${'x'.repeat(64)}.example.org`, 'ENOTFOUND'],
])('a name that %s', async (_, name, code) => {
  expect(await resolver()(name)).toBe(code);
});

test('repeat sends the open queries again', async () => {
  const lookup = createNameResolver({
    servers: [server.address],
    configFile: '/dev/null',
    respondWithinMs: PATIENT_MS,
  });
  let results = 0;
  const running = lookup(
    'silent.example.org',
    { all: true, family: 4 },
    { ...NO_EVENTS, onResult: () => (results += 1) },
  );
  await until('the query', () => server.asked.length === 1);
  server.zone.set('silent.example.org', ['192.0.2.13']);
  running.repeat();
  await until('the result', () => results === 1);
  server.zone.set('silent.example.org', 'silence');
});

test('a stopped lookup ends only after its queries', async () => {
  const lookup = createNameResolver({
    servers: [server.address],
    configFile: '/dev/null',
    respondWithinMs: 50,
  });
  let results = 0;
  let hasEnded = false;
  const running = lookup(
    'silent.example.org',
    { all: true },
    { ...NO_EVENTS, onResult: () => (results += 1), onEnd: () => (hasEnded = true) },
  );
  await until('both queries', () => server.asked.length >= 2);
  running.stop();
  expect(hasEnded).toBe(false);
  await until('the end', () => hasEnded);
  expect(results).toBe(0);
});

test('a lookup with a family without a response ends after its callback', async () => {
  const lookup = createNameResolver({
    servers: [server.address],
    configFile: '/dev/null',
    respondWithinMs: 50,
  });
  const events: string[] = [];
  lookup(
    'half.example.org',
    { all: true },
    {
      ...NO_EVENTS,
      onResult: () => events.push('result'),
      onEnd: (allResponded) => events.push(`ended ${allResponded}`),
    },
  );
  await until('the callback', () => events.length > 0);
  expect(events).toEqual(['result']);
  await until('the end', () => events.length > 1);
  expect(events).toEqual(['result', 'ended false']);
});
