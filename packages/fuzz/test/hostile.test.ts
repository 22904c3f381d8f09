import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals';
import { until } from '@tocsin/embedded/testing/until';
import { openAccount, type Account } from '@tocsin/fuzz/system/account';
import { openSystem, type FuzzApi, type FuzzSystem } from '@tocsin/fuzz/system/system';
import {
  BODY_PATHS,
  CHUNK,
  countConnections,
  createLongList,
  describeOnLinux,
  drip,
  flood,
  headOf,
  openHostileClient,
  readSlowly,
  SLOW_HEAD,
  useApi,
  type HostileClient,
} from './hostile-client.ts';

/** Never closes the connection of a slow client during the tests, so that it also keeps an ordinary client on a busy machine. */
let system: FuzzSystem;
/** Closes the connection of a slow client after a second. */
let strict: FuzzApi;
let account: Account;
let attackers: HostileClient[] = [];
beforeAll(async () => {
  system = await openSystem({ API_REQUEST_TIMEOUT_SECONDS: '300' });
  account = await openAccount(system);
  strict = await system.startApi({ API_REQUEST_TIMEOUT_SECONDS: '1', API_KEEP_ALIVE_SECONDS: '1' });
  await createLongList(system, account);
});
afterAll(() => system.close());

/** The api has closed every connection and logged no error. */
afterEach(async () => {
  for (const { socket } of attackers) socket.destroy();
  attackers = [];
  for (const one of [system, strict]) {
    await until('all connections to be closed', async () => (await countConnections(one.api.port)) === 0);
    expect(await one.newErrors()).toEqual([]);
  }
});

async function open(port: number, count: number, text: string | Buffer): Promise<HostileClient[]> {
  const opened = await Promise.all(Array.from({ length: count }, () => openHostileClient(port)));
  attackers.push(...opened);
  for (const { socket } of opened) socket.write(text);
  return opened;
}

const post = (path: string, headers: string): string => headOf(account, 'POST', path, headers);
const get = (path: string): string => headOf(account, 'GET', path);

async function sendSlowHeads(port: number): Promise<HostileClient[]> {
  const clients = await open(port, 20, SLOW_HEAD);
  for (const client of clients) drip(client, 'a', 100);
  return clients;
}

async function sendSlowBodies(port: number): Promise<HostileClient[]> {
  const slow = await Promise.all(
    BODY_PATHS.map((path) => open(port, 5, post(path, 'Content-Length: 1000\r\n'))),
  );
  for (const client of slow.flat()) drip(client, ' ', 100);
  const short = await open(port, 5, `${post('/api/cli/monitors', 'Content-Length: 100\r\n')}{}`);
  const halfClosed = await open(port, 5, `${post('/api/cli/monitors', 'Content-Length: 100\r\n')}{}`);
  for (const { socket } of halfClosed) socket.end();
  return [...slow.flat(), ...short, ...halfClosed];
}

async function sendEndlessBodies(port: number): Promise<HostileClient[]> {
  const chunked = await Promise.all(
    [...BODY_PATHS, '/healthz'].map((path) => open(port, 1, post(path, 'Transfer-Encoding: chunked\r\n'))),
  );
  const terabytes = await open(port, 1, post('/api/cli/monitors', 'Content-Length: 10000000000000\r\n'));
  for (const client of chunked.flat()) flood(client, CHUNK);
  for (const client of terabytes) flood(client, Buffer.alloc(0x10000, ' '));
  return [...chunked.flat(), ...terabytes];
}

async function sendFloods(port: number): Promise<HostileClient[]> {
  const lines = await open(port, 2, `GET / HTTP/1.1\r\nHost: a\r\n${'A: b\r\n'.repeat(20_000)}`);
  const requests = await open(port, 1, get(`/api/cli/monitors/${account.id}`).repeat(1_000));
  const garbage = await open(port, 2, Buffer.alloc(100_000, 0xff));
  return [...lines, ...requests, ...garbage];
}

async function readLongListsSlowly(port: number): Promise<HostileClient[]> {
  const readers = await open(port, 3, get('/api/cli/monitors'));
  for (const reader of readers) {
    await until('the beginning of a response', () => reader.received() !== '' || reader.isClosed());
    readSlowly(reader);
  }
  return readers;
}

async function sendIntoStreams(port: number): Promise<HostileClient[]> {
  const head = `GET /api/dashboard/stream HTTP/1.1\r\nHost: a\r\nCookie: ${account.cookies.full}\r\n`;
  const clients = await open(port, 3, `${head}Transfer-Encoding: chunked\r\n\r\n`);
  for (const client of clients) drip(client, '1\r\na\r\n', 50);
  return clients;
}

const ATTACKS: readonly (readonly [string, (port: number) => Promise<HostileClient[]>])[] = [
  ['send heads byte by byte', sendSlowHeads],
  ['send bodies byte by byte, or shorter than announced', sendSlowBodies],
  ['send endless bodies as fast as possible', sendEndlessBodies],
  ['send floods of header lines, requests and garbage', sendFloods],
  ['request long lists and read them slowly', readLongListsSlowly],
  ['keep sending after they have opened a live stream', sendIntoStreams],
];

describeOnLinux('other clients are served while clients', () => {
  test.each(ATTACKS)('%s', async (_, attack) => {
    const clients = await attack(system.api.port);
    await useApi(system.api.port, account);
    if (attack === sendSlowHeads) expect(clients.filter(({ isClosed }) => isClosed())).toEqual([]);
  });
});

describeOnLinux('the api closes the connections of clients that', () => {
  test.each(ATTACKS)('%s', async (_, attack) => {
    const clients = await attack(strict.api.port);
    await until('all connections to be closed', async () => (await countConnections(strict.api.port)) === 0);
    // A slow reader has not read up to the end yet.
    if (attack !== readLongListsSlowly)
      await until('the clients to notice', () => clients.every(({ isClosed }) => isClosed()));
    const responses = clients.map(({ received }) => received());
    if (attack === sendSlowHeads) expect(responses).toContainEqual(expect.stringMatching(/^HTTP\/1\.1 408 /));
    // A stream contains no second response.
    if (attack === sendIntoStreams)
      expect(responses.map((text) => text.split('HTTP/1.1 ').length - 1)).toEqual(clients.map(() => 1));
  });
});
