import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { createMonitorSchema } from '@tocsin/contracts/monitors/monitor';
import { createMonitor } from '@tocsin/db/monitors/create-monitor';
import { until } from '@tocsin/embedded/testing/until';
import { type Account, openAccount } from '@tocsin/fuzz/system/account';
import { type FuzzApi, type FuzzSystem, openSystem } from '@tocsin/fuzz/system/system';
import {
  acceptedConnections,
  Bystander,
  type HostileClient,
  keepSaying,
  openHostileClient,
  pour,
} from '@tocsin/fuzz/wire/hostile-client';
import { WireClient } from '@tocsin/fuzz/wire/send';

const SLOW_HEAD = 'GET /api/cli/monitors HTTP/1.1\r\nHost: a\r\nX-A: ';
const BODY_PATHS = ['/api/cli/monitors', '/api/dashboard/invitations/accept', '/api/auth/sign-in/email'];
const onLinux = process.platform === 'linux' ? describe : describe.skip;

/** Its api closes no connection of a slow client during the tests, so that it keeps an ordinary client that a busy machine makes slow. */
let system: FuzzSystem;
/** Closes the connection of a slow client after a second. */
let hasty: FuzzApi;
let account: Account;
let bystander: Bystander;
let attackers: HostileClient[] = [];
beforeAll(async () => {
  system = await openSystem({ API_REQUEST_TIMEOUT_SECONDS: '300' });
  const client = new WireClient(system.api.port);
  account = await openAccount(system, client);
  client.close();
  bystander = new Bystander(system.api, account);
  hasty = await system.startApi({ API_REQUEST_TIMEOUT_SECONDS: '1', API_KEEP_ALIVE_SECONDS: '1' });
  await createLongList();
});
afterAll(() => system.close());

/** No connection is left open, and no error was logged. */
afterEach(async () => {
  for (const { socket } of attackers) socket.destroy();
  attackers = [];
  for (const one of [system, hasty]) {
    await until('all connections to be closed', async () => (await acceptedConnections(one.api.port)) === 0);
    expect((await one.newLogLines()).filter(({ level }) => level === 'error')).toEqual([]);
  }
});

async function open(port: number, count: number, text: string | Buffer): Promise<HostileClient[]> {
  const opened = await Promise.all(Array.from({ length: count }, () => openHostileClient(port)));
  attackers.push(...opened);
  for (const { socket } of opened) socket.write(text);
  return opened;
}

const post = (path: string, headers: string): string =>
  `POST ${path} HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${account.key}\r\nContent-Type: application/json\r\n${headers}\r\n`;

const get = (path: string): string =>
  `GET ${path} HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${account.key}\r\n\r\n`;

async function sendSlowHeads(port: number): Promise<HostileClient[]> {
  const heads = await open(port, 20, SLOW_HEAD);
  for (const one of heads) keepSaying(one, 'a', 100);
  return heads;
}

async function sendSlowBodies(port: number): Promise<HostileClient[]> {
  const bodies = await Promise.all(
    BODY_PATHS.map((path) => open(port, 5, post(path, 'Content-Length: 1000\r\n'))),
  );
  for (const one of bodies.flat()) keepSaying(one, ' ', 100);
  const short = await open(port, 5, `${post('/api/cli/monitors', 'Content-Length: 100\r\n')}{}`);
  const halfClosed = await open(port, 5, `${post('/api/cli/monitors', 'Content-Length: 100\r\n')}{}`);
  for (const { socket } of halfClosed) socket.end();
  return [...bodies.flat(), ...short, ...halfClosed];
}

async function sendEndlessBodies(port: number): Promise<HostileClient[]> {
  const chunk = Buffer.concat([Buffer.from('10000\r\n'), Buffer.alloc(0x10000, ' '), Buffer.from('\r\n')]);
  const chunked = await Promise.all(
    [...BODY_PATHS, '/healthz'].map((path) => open(port, 1, post(path, 'Transfer-Encoding: chunked\r\n'))),
  );
  const terabytes = await open(port, 1, post('/api/cli/monitors', 'Content-Length: 10000000000000\r\n'));
  for (const one of chunked.flat()) pour(one, chunk);
  for (const one of terabytes) pour(one, Buffer.alloc(0x10000, ' '));
  return [...chunked.flat(), ...terabytes];
}

async function sendFloods(port: number): Promise<HostileClient[]> {
  const lines = await open(port, 2, `GET / HTTP/1.1\r\nHost: a\r\n${'A: b\r\n'.repeat(20_000)}`);
  const requests = await open(port, 1, get(`/api/cli/monitors/${account.id}`).repeat(1_000));
  const nonsense = await open(port, 2, Buffer.alloc(100_000, 0xff));
  return [...lines, ...requests, ...nonsense];
}

async function readSlowly(port: number): Promise<HostileClient[]> {
  const readers = await open(port, 3, get('/api/cli/monitors'));
  for (const { socket, received, isOver } of readers) {
    // The api has begun to send the answer. The client reads the rest slowly.
    await until('the beginning of an answer', () => received() !== '' || isOver());
    socket.pause().removeAllListeners('data');
    const timer = setInterval(() => socket.read(1), 50).unref();
    socket.once('close', () => clearInterval(timer));
  }
  return readers;
}

async function sendIntoStreams(port: number): Promise<HostileClient[]> {
  const head = `GET /api/dashboard/stream HTTP/1.1\r\nHost: a\r\nCookie: ${account.owner.cookie}\r\n`;
  const sending = await open(port, 3, `${head}Transfer-Encoding: chunked\r\n\r\n`);
  for (const one of sending) keepSaying(one, '1\r\na\r\n', 50);
  return sending;
}

type Attack = (port: number) => Promise<HostileClient[]>;
const ATTACKS: readonly (readonly [string, Attack])[] = [
  ['send a byte of their heads now and then', sendSlowHeads],
  ['send a byte of their bodies now and then, or less than they said', sendSlowBodies],
  ['send bodies that never end, as fast as they can', sendEndlessBodies],
  ['send floods of header lines, of requests, and of nonsense', sendFloods],
  ['ask for long lists and read a byte now and then', readSlowly],
  ['send on after they have opened a live stream', sendIntoStreams],
];

onLinux('others are served while clients', () => {
  test.each(ATTACKS)('%s', async (_what, attack) => {
    const those = await attack(system.api.port);
    await bystander.ask();
    // The api closed no connection of the clients that are only slow.
    if (attack === sendSlowHeads) expect(those.filter(({ isOver }) => isOver())).toEqual([]);
  });
});

onLinux('it comes to an end, when clients', () => {
  test.each(ATTACKS)('%s', async (_what, attack) => {
    const those = await attack(hasty.api.port);
    await until(
      'the api to close all connections',
      async () => (await acceptedConnections(hasty.api.port)) === 0,
    );
    // A client that reads slowly has not read up to the end of its connection yet.
    if (attack !== readSlowly) await until('the ends', () => those.every(({ isOver }) => isOver()));
    const answers = those.map(({ received }) => received());
    if (attack === sendSlowHeads) expect(answers).toContainEqual(expect.stringMatching(/^HTTP\/1\.1 408 /));
    // No other answer is written into a stream that has begun.
    if (attack === sendIntoStreams) {
      expect(answers.map((text) => text.split('HTTP/1.1 ').length - 1)).toEqual(those.map(() => 1));
    }
  });
});

/** A list of 3.5 MB, which is more than the buffers of a connection hold. */
async function createLongList(): Promise<void> {
  const input = createMonitorSchema.parse({
    name: 'long',
    url: 'https://a.invalid',
    body: 'x'.repeat(60_000),
  });
  for (let index = 0; index < 60; index += 1) {
    await createMonitor(system.context, account.id, input, 'default');
  }
}
