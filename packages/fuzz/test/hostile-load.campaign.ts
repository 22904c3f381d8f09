import { readFile } from 'node:fs/promises';
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { createMonitorSchema } from '@tocsin/contracts/monitors/monitor';
import { createMonitor } from '@tocsin/db/monitors/create-monitor';
import { until } from '@tocsin/embedded/testing/until';
import { type Account, openAccount } from '@tocsin/fuzz/system/account';
import { type FuzzSystem, openSystem } from '@tocsin/fuzz/system/system';
import {
  acceptedConnections,
  Bystander,
  type HostileClient,
  openHostileClient,
  pour,
} from '@tocsin/fuzz/wire/hostile-client';
import { WireClient } from '@tocsin/fuzz/wire/send';

/*
 * Measures how much memory an api takes while many clients attack it at once. The results depend on what else the machine does, so
 * these tests are not part of `npm test`.
 */
const MOST_MB = 150;
const MOST_MB_OF_IDLE = 300;
const IDLE_CONNECTIONS = 10_000;
const IDLE_OPENED_WITHIN_MS = 30_000;
const BODY_PATHS = ['/api/cli/monitors', '/api/dashboard/invitations/accept', '/api/auth/sign-in/email'];
const onLinux = process.platform === 'linux' ? describe : describe.skip;

let system: FuzzSystem;
let account: Account;
let bystander: Bystander;
let beforeMb: number;
let attackers: HostileClient[] = [];
beforeAll(async () => {
  system = await openSystem({ API_REQUEST_TIMEOUT_SECONDS: '300' });
  const client = new WireClient(system.api.port);
  account = await openAccount(system, client);
  client.close();
  bystander = new Bystander(system.api, account);
  await bystander.ask();
});
afterAll(() => system.close());
afterEach(async () => {
  for (const { socket } of attackers) socket.destroy();
  attackers = [];
  await until('all connections to be closed', async () => (await acceptedConnections(system.api.port)) === 0);
});

async function attack(
  count: number,
  text: string | Buffer | null,
  localAddress = '127.0.0.1',
): Promise<HostileClient[]> {
  const opened = await Promise.all(
    Array.from({ length: count }, () => openHostileClient(system.api.port, localAddress)),
  );
  attackers.push(...opened);
  if (text !== null) for (const { socket } of opened) socket.write(text);
  return opened;
}

/** Other clients are served, and memory stays within its limit, ten times in a row. */
async function expectCalm(mostMb: number = MOST_MB): Promise<void> {
  for (let times = 0; times < 10; times += 1) {
    await bystander.ask();
    expect((await bystander.memoryMb()) - beforeMb).toBeLessThan(mostMb);
  }
}

const post = (path: string, headers: string): string =>
  `POST ${path} HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${account.key}\r\nContent-Type: application/json\r\n${headers}\r\n`;

const listRequest = (): string =>
  `GET /api/cli/monitors HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${account.key}\r\n\r\n`;

onLinux('memory is bounded while clients', () => {
  test('send bodies that never end, as fast as they can', async () => {
    beforeMb = await bystander.memoryMb();
    const chunk = Buffer.concat([Buffer.from('10000\r\n'), Buffer.alloc(0x10000, ' '), Buffer.from('\r\n')]);
    const chunked = await Promise.all(
      [...BODY_PATHS, '/healthz'].map((path) => attack(2, post(path, 'Transfer-Encoding: chunked\r\n'))),
    );
    const terabytes = await attack(4, post('/api/cli/monitors', 'Content-Length: 10000000000000\r\n'));
    for (const one of chunked.flat()) pour(one, chunk);
    for (const one of terabytes) pour(one, Buffer.alloc(0x10000, ' '));
    await expectCalm();
  });

  test('send floods of header lines, of requests, and of nonsense', async () => {
    beforeMb = await bystander.memoryMb();
    await attack(20, `GET / HTTP/1.1\r\nHost: a\r\n${'A: b\r\n'.repeat(20_000)}`);
    await attack(5, listRequest().repeat(1_000));
    await attack(20, Buffer.alloc(100_000, 0xff));
    await expectCalm();
  });

  test('ask for long lists and read a byte now and then', async () => {
    await createLongList();
    beforeMb = await bystander.memoryMb();
    for (const { socket, received, isOver } of await attack(15, listRequest())) {
      // The api has begun to send the answer. The client reads the rest slowly.
      await until('the beginning of an answer', () => received() !== '' || isOver());
      socket.pause().removeAllListeners('data');
      const timer = setInterval(() => socket.read(1), 50).unref();
      socket.once('close', () => clearInterval(timer));
    }
    await expectCalm();
  });

  test('stay connected, ten thousand idle ones and some that are not done', async () => {
    beforeMb = await bystander.memoryMb();
    await attack(100, 'GET /api/cli/monitors HTTP/1.1\r\nHost: a\r\nX-A: ');
    await attack(100, post('/api/auth/sign-in/email', 'Content-Length: 9\r\n'));
    await openIdle();
    const all = attackers.length;
    await until('all are connected', async () => (await acceptedConnections(system.api.port)) >= all);
    await expectCalm(MOST_MB_OF_IDLE);
    expect(attackers.filter(({ isOver }) => isOver())).toEqual([]);
  });
});

/** Opens as many as the limit on open files allows, and as the machine opens in half a minute. */
async function openIdle(): Promise<void> {
  const limits = await readFile('/proc/self/limits', 'utf8');
  const wanted = Math.min(IDLE_CONNECTIONS, Number(/Max open files\s+(\d+)/.exec(limits)?.[1]) - 1_000);
  const deadline = performance.now() + IDLE_OPENED_WITHIN_MS;
  let opened = 0;
  for (let address = 2; opened < wanted && performance.now() < deadline; address += 1) {
    opened += (await attack(Math.min(500, wanted - opened), null, `127.0.0.${address}`)).length;
  }
  if (opened < IDLE_CONNECTIONS)
    process.stderr.write(`Only ${opened} idle connections, of ${IDLE_CONNECTIONS} that are wanted.\n`);
}

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
