import type { LookupAddress } from 'node:dns';
import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, jest, test } from '@jest/globals';
import { until } from '@tocsin/embedded/testing/until';
import { DnsServer } from '../testing/dns-server.ts';
import { NO_EVENTS, PATIENT_MS, startTestResolvers, type TestResolvers } from '../testing/test-resolvers.ts';
import { createFairLookup } from './fair-lookup.ts';
import { createNameResolver, type NameResolverOptions } from './name-resolver.ts';

const BLOCKED_MS = 1_100;
const SENT_WITHIN_MS = 20_000;
/** More responses than the receive buffer of one socket has room for, and fewer queries than that of the server has room for. */
const BURST = 400;
const SERVER_BUFFER_BYTES = 1_000_000;
const SLOW_SERVER = `
  const { parentPort, workerData } = require('node:worker_threads');
  const socket = require('node:dgram').createSocket({ type: 'udp4', recvBufferSize: ${SERVER_BUFFER_BYTES} });
  socket.on('message', (query, { port, address }) => {
    const record = Buffer.from([0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 0, 0, 4, 192, 0, 2, 60]);
    let end = 12;
    while (query[end] !== 0) end += query[end] + 1;
    const response = Buffer.concat([query.subarray(0, end + 5), record]);
    response.writeUInt16BE(0x8180, 2);
    response.writeUInt16BE(1, 6);
    response.writeUInt32BE(0, 8);
    const send = () => socket.send(response, port, address, () => {
      Atomics.add(workerData, 0, 1);
      Atomics.notify(workerData, 0);
    });
    setTimeout(send, query.toString('latin1', 13, 17) === 'slow' ? 1500 : 0);
  });
  socket.bind(0, '127.0.0.1', () => parentPort.postMessage(socket.address().port));
`;

let resolvers: TestResolvers;
let server: DnsServer;
let resolver: TestResolvers['resolver'];
let clock: number;
afterEach(() => {
  jest.useRealTimers();
  resolvers.stopLookups();
});
beforeAll(async () => {
  resolvers = await startTestResolvers(() => clock);
  ({ server, resolver } = resolvers);
});
afterAll(() => resolvers.stop());
beforeEach(async () => {
  clock = 0;
  await resolvers.reset();
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
  /** Counts the responses that were sent. */
  const responses = new Int32Array(new SharedArrayBuffer(4));
  let slow: Worker;
  let servers: readonly string[];
  beforeAll(async () => {
    // It responds to each query with 192.0.2.60, and to those for names that begin with `slow` after 1.5 s.
    slow = new Worker(SLOW_SERVER, { eval: true, workerData: responses });
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

  test('may send hundreds of responses before the first one is read', async () => {
    const resolve = resolver({ servers });
    responses[0] = 0;
    const results = Array.from({ length: BURST }, (_, index) =>
      resolve(`${index}.burst.example.org`, { family: 4 }),
    );
    for (let sent = 0; sent < BURST; sent = Atomics.load(responses, 0))
      if (Atomics.wait(responses, 0, sent, SENT_WITHIN_MS) === 'timed-out') break;
    expect(new Set((await Promise.all(results)).flat())).toEqual(new Set(['192.0.2.60']));
    expect(responses[0]).toBe(BURST);
  });
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
