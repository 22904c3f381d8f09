import dns, { type LookupOptions } from 'node:dns';
import { writeFile } from 'node:fs/promises';
import { isIP } from 'node:net';
import type os from 'node:os';
import path from 'node:path';
import { describe, expect, jest, test } from '@jest/globals';
import { until } from '@tocsin/embedded/testing/until';
import { holdPauses, PATIENT_MS, untilPassed, useTestResolvers } from '../testing/test-resolvers.ts';
import type { RunningLookup } from './name-lookup.ts';
import { createNameResolver } from './name-resolver.ts';

type Interfaces = ReturnType<typeof os.networkInterfaces>;

const { clock, folder, server, resolver } = await useTestResolvers();

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
    clock.now = 60_000;
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

  test('are skipped if they lack the name, although one query is lost', async () => {
    server.lost.add('short.first.test AAAA');
    expect(await resolver()('short')).toEqual(['192.0.2.2']);
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
    holdPauses();
    const result = resolver()('hangs', { family: 4 });
    await until('the query of the search domain', () => server.asked.includes('hangs.first.test A'));
    jest.advanceTimersByTime(3_000);
    expect(await result).toEqual(['192.0.2.98']);
  });

  test('do not need a file', async () => {
    expect(await resolver({ configFile: path.join(folder, 'none') })('short', { family: 4 })).toEqual([
      '192.0.2.99',
    ]);
    expect(server.asked).toEqual(['short A']);
  });
});

describe('families', () => {
  const loopback = ['127.0.0.1', '::1'];
  const machine =
    (...addresses: string[]) =>
    (): Interfaces => ({
      eth0: addresses.map((address): os.NetworkInterfaceInfo => {
        const common = { address, internal: loopback.includes(address), netmask: '', mac: '', cidr: null };
        return isIP(address) === 4
          ? { ...common, family: 'IPv4' }
          : { ...common, family: 'IPv6', scopeid: 0 };
      }),
    });
  const HINTS: LookupOptions = { family: 0, hints: dns.ADDRCONFIG };

  test.each<[string, () => Interfaces, string]>([
    ['IPv4 alone', machine(...loopback, '192.0.2.77'), 'A'],
    ['IPv4 and a link-local IPv6 address', machine('192.0.2.77', 'fe80::1'), 'A'],
    ['IPv6 alone', machine(...loopback, '2001:db8::77'), 'AAAA'],
    ['both', machine('192.0.2.77', '2001:db8::77'), 'A AAAA'],
    ['loopback alone', machine(...loopback), 'A AAAA'],
    ['IPv6 and a link-local IPv4 address', machine('2001:db8::77', '169.254.172.3'), 'A AAAA'],
  ])('of a machine with %s are queried if the caller wants it', async (_, interfaces, kinds) => {
    await resolver({ interfaces })('both.example.org', HINTS);
    expect(server.asked.toSorted()).toEqual(kinds.split(' ').map((kind) => `both.example.org ${kind}`));
  });

  test('are both queried otherwise, and the result starts with IPv4 only without a global IPv6 address', async () => {
    const plain = machine('192.0.2.77');
    expect(await resolver({ interfaces: plain })('both.example.org')).toEqual(['2001:db8::10', '192.0.2.10']);
    const local = machine('192.0.2.77', 'fd12:3456::77');
    const addresses = await resolver({ interfaces: local })('both.example.org', HINTS);
    expect(addresses).toEqual(['192.0.2.10', '2001:db8::10']);
  });

  test('do not include IPv6 for two minutes after a name had only IPv4 addresses', async () => {
    const resolve = resolver();
    const askedAt = async (ms: number): Promise<readonly string[]> => {
      clock.now = ms;
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
    holdPauses();
    server.lost.add('both.example.org A');
    const result = resolver()('both.example.org');
    await until('both queries', () => server.asked.length === 2);
    jest.advanceTimersByTime(PATIENT_MS);
    expect(await result).toEqual(['2001:db8::10', '192.0.2.10']);
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

describe('a running lookup', () => {
  /** Records what the lookup reports. */
  function start(
    name: string,
    given: Omit<Parameters<ReturnType<typeof createNameResolver>>[1], 'all'>,
    respondWithinMs: number,
  ): { running: RunningLookup; events: string[] } {
    const lookup = createNameResolver({
      servers: [server.address],
      configFile: '/dev/null',
      respondWithinMs,
    });
    const events: string[] = [];
    const running = lookup(
      name,
      { ...given, all: true },
      {
        onResult: () => events.push('result'),
        onRetry: () => undefined,
        onEnd: (allResponded) => events.push(`end ${allResponded}`),
      },
    );
    return { running, events };
  }

  test('repeats its open queries when asked to', async () => {
    const { running, events } = start('silent.example.org', { family: 4 }, PATIENT_MS);
    await until('the query', () => server.asked.length === 1);
    server.zone.set('silent.example.org', ['192.0.2.13']);
    running.repeat();
    await until('the result', () => events.includes('result'));
    server.zone.set('silent.example.org', 'silence');
  });

  test('ends only after its queries when it is stopped', async () => {
    holdPauses();
    const { running, events } = start('silent.example.org', {}, 50);
    await until('both queries', () => server.asked.length >= 2);
    running.stop();
    expect(events).toEqual([]);
    await until('the end', () => events.length > 0);
    expect(events).toEqual(['end false']);
  });

  test('ends after its result if a family gets no response', async () => {
    holdPauses();
    const { events } = start('half.example.org', {}, 500);
    await untilPassed('the result', () => events.length > 0, 25);
    expect(events).toEqual(['result']);
    await until('the end', () => events.length > 1);
    expect(events).toEqual(['result', 'end false']);
  });
});
