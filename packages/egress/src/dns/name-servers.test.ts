import type { LookupAddress } from 'node:dns';
import fs from 'node:fs';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, jest, test } from '@jest/globals';
import { until } from '@tocsin/embedded/testing/until';
import { DnsServer } from '../testing/dns-server.ts';
import { testOwner } from '../testing/test-owner.ts';
import {
  holdPauses,
  NO_EVENTS,
  PATIENT_MS,
  untilPassed,
  useTestResolvers,
} from '../testing/test-resolvers.ts';
import { createFairLookup } from './fair-lookup.ts';
import { createNameResolver, type NameResolverOptions } from './name-resolver.ts';

/** A server gets queries from this many sockets in turn. */
const SOCKETS = 16;

const { clock, server, resolver } = await useTestResolvers();

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
    holdPauses();
    const result = resolve('silent.example.org', { family: 4 });
    await until('the query', () => server.asked.length === 1);
    jest.advanceTimersByTime(1_000);
    expect(await result).toEqual(['192.0.2.52']);
    clock.now += 1_001;
    expect(await resolve('both.example.org', { family: 4 })).toEqual(['192.0.2.53']);
    clock.now += 10_000;
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

describe('a load balancer that sends each socket to one of several servers, of which some are dead', () => {
  /** Source ports of the queries. */
  let ports: number[];
  let balanced: DnsServer;
  /** The queries from the first sockets get no response. */
  const ignoreFirst = (count: number): void => {
    balanced.ignores = (_address, port) => {
      ports.push(port);
      return Array.from(new Set(ports)).indexOf(port) < count;
    };
  };
  beforeEach(async () => {
    ports = [];
    balanced = await DnsServer.start({
      'shop.example.org': ['192.0.2.70'],
      'shop.second.test': ['192.0.2.71'],
    });
  });
  afterEach(() => balanced.stop());

  test('may lose 12 queries of a lookup in five seconds, because each has another socket', async () => {
    ignoreFirst(12);
    holdPauses();
    const startedAt = jest.now();
    const resolve = resolver({ servers: [balanced.address], respondWithinMs: 1_000 });
    const result = resolve('shop.example.org', { family: 4 });
    for (let sent = 1; sent <= 12; sent += 1) {
      await until('the next query', () => ports.length === sent);
      jest.advanceTimersToNextTimer();
    }
    await until('the last query', () => ports.length === 13);
    expect([new Set(ports).size, await result]).toEqual([13, ['192.0.2.70']]);
    expect(jest.now() - startedAt).toBeLessThan(5_000);
  });

  test('gets no more queries from sockets that were silent', async () => {
    ignoreFirst(SOCKETS);
    const resolve = resolver({ servers: [balanced.address] });
    for (let count = 0; count < SOCKETS; count += 1) void resolve('shop.example.org', { family: 4 });
    await until('the queries', () => ports.length === SOCKETS);
    clock.now += 101;
    const results = Array.from({ length: SOCKETS }, () => resolve('shop.example.org', { family: 4 }));
    expect(new Set((await Promise.all(results)).flat())).toEqual(new Set(['192.0.2.70']));
    const silent = new Set(ports.slice(0, SOCKETS));
    expect(ports.slice(SOCKETS).filter((port) => silent.has(port))).toEqual([]);
  });

  test('gets lost queries for a search domain again sooner if it has lost some for an earlier one', async () => {
    ignoreFirst(1);
    balanced.lost.add('shop.second.test A');
    holdPauses();
    const resolve = resolver({ servers: [balanced.address], respondWithinMs: 1_000 });
    const result = resolve('shop', { family: 4 });
    await until('the lost query', () => ports.length === 1);
    jest.advanceTimersByTime(1_000);
    await until('the query for the next domain', () => balanced.asked.includes('shop.second.test A'));
    const lostAt = jest.now();
    jest.advanceTimersToNextTimer();
    expect([await result, jest.now() - lostAt]).toEqual([['192.0.2.71'], 150]);
  });
});

test('a forwarder that one account fills with hanging names resolves new names of another account', async () => {
  const forwarder = await DnsServer.start({ 'shop.example.org': ['192.0.2.60'] });
  forwarder.maxUnanswered = 150;
  const lookup = createFairLookup(
    createNameResolver({ configFile: '/dev/null', servers: [forwarder.address] }),
  );
  const deadline = performance.now() + 1_500;
  for (let index = 0; index < 1_000; index += 1) {
    const name = `${index}.silent.example.org`;
    forwarder.zone.set(name, 'silence');
    lookup(name, { all: true }, { ...testOwner('one'), resource: name, deadline }, () => undefined);
  }
  await until('the queries', () => forwarder.asked.length >= 100);
  const found = await new Promise((resolve) => {
    lookup('shop.example.org', { all: true }, testOwner('two'), (_error, addresses) => resolve(addresses));
  });
  expect(found).toEqual([{ address: '192.0.2.60', family: 4 }]);
  await forwarder.stop();
});

describe('a server that fails at first', () => {
  beforeEach(() => holdPauses());

  test.each(['refusal', 'failure'] as const)('is queried again after a %s', async (failure) => {
    server.zone.set('late.example.org', failure);
    let result: readonly string[] | string | null = null;
    void resolver()('late.example.org').then((addresses) => (result = addresses));
    await untilPassed('four queries for each family', () => server.asked.length >= 8);
    server.zone.set('late.example.org', ['192.0.2.11']);
    await untilPassed('the result', () => result !== null);
    expect(result).toEqual(['192.0.2.11']);
  });

  test('is queried again after it was unreachable', async () => {
    const gone = await DnsServer.start({});
    const { address } = gone;
    await gone.stop();
    let retries = 0;
    let result: readonly LookupAddress[] | null = null;
    const lookup = createNameResolver({ configFile: '/dev/null', servers: [address] });
    const events = {
      ...NO_EVENTS,
      onResult: (_: unknown, addresses: readonly LookupAddress[]) => (result = addresses),
      onRetry: () => (retries += 1),
    };
    lookup('late.example.org', { all: true, family: 4 }, events);
    await untilPassed('two attempts', () => retries >= 2);
    const back = await DnsServer.start({ 'late.example.org': ['192.0.2.12'] }, Number(address.split(':')[1]));
    await untilPassed('the result', () => result !== null);
    expect(result).toEqual([{ address: '192.0.2.12', family: 4 }]);
    await back.stop();
  });

  test('does not fail if this process has no file descriptor for a query', async () => {
    const noFile = Object.assign(new Error('open EMFILE'), { code: 'EMFILE' });
    const opening = jest.spyOn(fs, 'openSync').mockImplementation(() => {
      throw noFile;
    });
    // c-ares reports both as a refused connection.
    const lookup = createNameResolver({ configFile: '/dev/null', servers: ['127.0.0.1:1'] });
    const error = await new Promise((onError) => {
      const onRetry = (_ms: number, cause: unknown): void => {
        running.stop();
        onError(cause);
      };
      const running = lookup('a.example.org', { all: true, family: 4 }, { ...NO_EVENTS, onRetry });
    });
    opening.mockRestore();
    expect(error).toBe(noFile);
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
