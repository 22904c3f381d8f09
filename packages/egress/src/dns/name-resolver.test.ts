import dns, { type LookupAddress, type LookupOptions } from 'node:dns';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import type { networkInterfaces } from 'node:os';
import path from 'node:path';
import { Worker } from 'node:worker_threads';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, jest, test } from '@jest/globals';
import { until } from '@tocsin/embedded/testing/until';
import { DnsServer } from '../testing/dns-server.ts';
import { createFairLookup } from './fair-lookup.ts';
import type { LookupEvents } from './name-lookup.ts';
import { createNameResolver, type NameResolverOptions } from './name-resolver.ts';

type Interfaces = ReturnType<typeof networkInterfaces>;

/** A busy machine must not repeat queries, because tests count them. */
const PATIENT_MS = 600_000;
const BLOCKED_MS = 1_100;
const SLOW_SERVER = `
  const { parentPort } = require('node:worker_threads');
  const socket = require('node:dgram').createSocket('udp4');
  socket.on('message', (query, { port, address }) => {
    const record = Buffer.from([0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 0, 0, 4, 192, 0, 2, 60]);
    let end = 12;
    while (query[end] !== 0) end += query[end] + 1;
    const response = Buffer.concat([query.subarray(0, end + 5), record]);
    response.writeUInt16BE(0x8180, 2);
    response.writeUInt16BE(1, 6);
    response.writeUInt32BE(0, 8);
    setTimeout(() => socket.send(response, port, address), query.toString('latin1', 13, 17) === 'slow' ? 1500 : 0);
  });
  socket.bind(0, '127.0.0.1', () => parentPort.postMessage(socket.address().port));
`;
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
/** Ends lookups without a response. */
const stops: (() => void)[] = [];
afterEach(() => {
  jest.useRealTimers();
  for (const stop of stops.splice(0)) stop();
});
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
    'hangs.first.test': 'silence',
    hangs: ['192.0.2.98'],
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
const NO_EVENTS: LookupEvents = {
  onResult: () => undefined,
  onRetry: () => undefined,
  onEnd: () => undefined,
};

/** A resolver of these files and this server. */
function resolver(
  options: NameResolverOptions = {},
): (name: string, given?: LookupOptions) => Promise<readonly string[] | string> {
  const lookup = createNameResolver({
    hostsFile: path.join(folder, 'hosts'),
    configFile: path.join(folder, 'resolv.conf'),
    servers: [server.address],
    respondWithinMs: PATIENT_MS,
    now: () => clock,
    ...options,
  });
  return (name, given = BOTH) =>
    new Promise((resolve) => {
      const running = lookup(
        name,
        { ...given, all: true },
        {
          ...NO_EVENTS,
          onResult: (error, addresses) =>
            resolve(error === null ? addresses.map(({ address }) => address) : (error.code ?? '')),
        },
      );
      stops.push(() => running.stop());
    });
}

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

describe('with two name servers', () => {
  let second: DnsServer;
  beforeAll(async () => {
    second = await DnsServer.start({
      'broken.example.org': ['192.0.2.50'],
      'refused.example.org': ['192.0.2.51'],
      'silent.example.org': ['192.0.2.52'],
      'both.example.org': ['192.0.2.53'],
    });
    server.zone.set('refused.example.org', 'refusal');
  });
  afterAll(() => second.stop());
  beforeEach(() => {
    second.asked.length = 0;
  });

  const two = (options: NameResolverOptions = {}): ReturnType<typeof resolver> =>
    resolver({ servers: [server.address, second.address], ...options });

  test('the first response counts', async () => {
    expect(await two()('both.example.org', { family: 4 })).toEqual(['192.0.2.10']);
    expect(await two()('none.example.org', { family: 4 })).toBe('ENOTFOUND');
    expect(second.asked).toEqual([]);
  });

  test.each([
    ['fails', 'broken.example.org', '192.0.2.50'],
    ['refuses', 'refused.example.org', '192.0.2.51'],
  ])('the second is queried immediately if the first %s', async (_, name, address) => {
    expect(await two()(name, { family: 4 })).toEqual([address]);
    expect(server.asked).toEqual([`${name} A`]);
  });

  test('the second is queried if the first is unreachable', async () => {
    const gone = await DnsServer.start({});
    const servers = [gone.address, second.address];
    await gone.stop();
    expect(await resolver({ servers })('both.example.org', { family: 4 })).toEqual(['192.0.2.53']);
  });

  test('the second is queried if the first is silent, and is queried first until the other responds again', async () => {
    const resolve = two({ respondWithinMs: 1_000 });
    expect(await resolve('silent.example.org', { family: 4 })).toEqual(['192.0.2.52']);
    clock += 1_001;
    expect(await resolve('both.example.org', { family: 4 })).toEqual(['192.0.2.53']);
    clock += 10_000;
    await until('the first server responds again', async () => {
      const [address] = await resolve('both.example.org', { family: 4 });
      return address === '192.0.2.10';
    });
  });

  test('each is queried once before the pause', async () => {
    second.zone.set('refused.example.org', 'failure');
    const lookup = createNameResolver({
      configFile: '/dev/null',
      servers: [server.address, second.address],
      respondWithinMs: PATIENT_MS,
    });
    await new Promise<void>((resolve) => {
      const onRetry = (): void => {
        running.stop();
        resolve();
      };
      const running = lookup('refused.example.org', { all: true, family: 4 }, { ...NO_EVENTS, onRetry });
    });
    const both = ['refused.example.org A'];
    expect([server.asked, second.asked]).toEqual([both, both]);
  });
});

describe('a server that fails at first', () => {
  test.each(['refusal', 'failure'] as const)('is queried again after a %s', async (failure) => {
    server.zone.set('late.example.org', failure);
    const result = resolver()('late.example.org');
    await until('four queries for each family', () => server.asked.length >= 8);
    server.zone.set('late.example.org', ['192.0.2.11']);
    expect(await result).toEqual(['192.0.2.11']);
  });

  test('is queried again after it was unreachable', async () => {
    const gone = await DnsServer.start({});
    const { address } = gone;
    await gone.stop();
    let retries = 0;
    const result = new Promise<LookupAddress[]>((resolve) => {
      const lookup = createNameResolver({ configFile: '/dev/null', servers: [address] });
      const events = { ...NO_EVENTS, onRetry: () => (retries += 1) };
      lookup(
        'late.example.org',
        { all: true, family: 4 },
        { ...events, onResult: (_, addresses) => resolve(addresses) },
      );
    });
    await until('two attempts', () => retries >= 2);
    const back = await DnsServer.start({ 'late.example.org': ['192.0.2.12'] }, Number(address.split(':')[1]));
    expect(await result).toEqual([{ address: '192.0.2.12', family: 4 }]);
    await back.stop();
  });

  test('is not queried after the lookup was stopped between two attempts', async () => {
    server.zone.set('late.example.org', 'refusal');
    const events: string[] = [];
    const lookup = createNameResolver({ configFile: '/dev/null', servers: [server.address] });
    const running = lookup(
      'late.example.org',
      { all: true },
      {
        onResult: () => events.push('result'),
        onRetry: () => setImmediate(() => running.stop()),
        onEnd: (allResponded) => events.push(`end ${allResponded}`),
      },
    );
    await until('the end', () => events.length > 0);
    expect(events).toEqual(['end true']);
    expect(server.asked.length).toBe(2);
  });
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

test('names that hang do not exhaust a small forwarder for other accounts', async () => {
  const forwarder = await DnsServer.start({});
  forwarder.maxSilent = 150;
  // No lookup ends at its deadline, and no query is repeated.
  jest.useFakeTimers({ doNotFake: ['setImmediate', 'nextTick', 'queueMicrotask', 'performance', 'Date'] });
  const lookup = createFairLookup({
    lookup: createNameResolver({ configFile: '/dev/null', servers: [forwarder.address] }),
  });
  const deadline = performance.now() + PATIENT_MS;
  const resolve = (name: string, account: string, redirected: boolean): Promise<string> =>
    new Promise((done) =>
      lookup(name, { all: true }, { account, resource: name, redirected, deadline }, (error) =>
        done(error?.code ?? 'resolved'),
      ),
    );
  const hostile = Array.from({ length: 200 }, (_, index) => `${index}.hostile.example.org`);
  for (const name of hostile) forwarder.zone.set(name, 'silence');
  for (const [index, name] of hostile.entries()) void resolve(name, 'hostile', index % 2 === 0);
  await until('the names that hang', () => forwarder.silent.size >= 80);
  const names = Array.from({ length: 200 }, (_, index) => `${index}.shop.example.org`);
  const results: string[] = [];
  for (const name of names) {
    forwarder.zone.set(name, ['192.0.2.14']);
    results.push(await resolve(name, 'other', false));
  }
  expect(results.filter((result) => result !== 'resolved')).toEqual([]);
  expect(forwarder.silent.size).toBeLessThanOrEqual(110);
  await forwarder.stop();
});

describe('a server in a separate thread', () => {
  let slow: Worker;
  let servers: readonly string[];
  beforeAll(async () => {
    // It responds to each query with 192.0.2.60, and to those for names that begin with `slow` after 1.5 s.
    slow = new Worker(SLOW_SERVER, { eval: true });
    const [port] = (await once(slow, 'message')) as [number];
    servers = [`127.0.0.1:${port}`];
  });
  afterAll(() => slow.terminate());

  /** c-ares has seen quick responses, so its time-out is short. */
  async function accustomed(): Promise<ReturnType<typeof resolver>> {
    const resolve = resolver({ servers, respondWithinMs: 1_500 });
    for (let count = 0; count < 5; count += 1) await resolve(`${count}.quick.example.org`, { family: 4 });
    return resolve;
  }

  test('may be slow for one name although it was quick for others', async () => {
    const resolve = await accustomed();
    expect(await resolve('slow.example.org', { family: 4 })).toEqual(['192.0.2.60']);
  });

  test('is read although each turn of the event loop takes longer than the time-out of c-ares', async () => {
    const resolve = await accustomed();
    let isOver = false;
    const result = resolve('quick.example.org', { family: 4 }).finally(() => (isOver = true));
    const block = (): void => {
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, BLOCKED_MS);
      if (!isOver) setTimeout(block, 1);
    };
    block();
    expect(await result).toEqual(['192.0.2.60']);
  });
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

test('a thousand names without a response do not delay other names', async () => {
  const resolve = resolver();
  const names = Array.from({ length: 1_000 }, (_, index) => `${index}.silent.example.org`);
  for (const name of names) server.zone.set(name, 'silence');
  let ended = 0;
  for (const name of names) void resolve(name).then(() => (ended += 1));
  expect(await resolve('four.example.org')).toEqual(['192.0.2.4']);
  expect(ended).toBe(0);
});
