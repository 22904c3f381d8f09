import { readFile } from 'node:fs/promises';
import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals';
import { until } from '@tocsin/embedded/testing/until';
import { openAccount, type Account } from '@tocsin/fuzz/system/account';
import { openSystem, type FuzzSystem } from '@tocsin/fuzz/system/system';
import {
  BODY_PATHS,
  CHUNK,
  countConnections,
  createLongList,
  describeOnLinux,
  flood,
  headOf,
  openHostileClient,
  readSlowly,
  SLOW_HEAD,
  useApi,
  type HostileClient,
} from './hostile-client.ts';

/*
 * Measures the memory of an api while many clients attack it at once. The results depend on the load of the machine, so these tests are not
 * part of `npm test`.
 */
const MAX_MB = 150;
const MAX_MB_WITH_IDLE = 300;
const IDLE_CONNECTIONS = 10_000;
const OPEN_IDLE_WITHIN_MS = 30_000;

let system: FuzzSystem;
let account: Account;
let beforeMb: number;
let attackers: HostileClient[] = [];
beforeAll(async () => {
  system = await openSystem({ API_REQUEST_TIMEOUT_SECONDS: '300' });
  account = await openAccount(system);
  await useApi(system.api.port, account);
});
afterAll(() => system.close());
afterEach(async () => {
  for (const { socket } of attackers) socket.destroy();
  attackers = [];
  await until('all connections to be closed', async () => (await countConnections(system.api.port)) === 0);
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

const post = (path: string, headers: string): string => headOf(account, 'POST', path, headers);
const listRequest = (): string => headOf(account, 'GET', '/api/cli/monitors');

/** Resident memory of the api. */
async function readMb(): Promise<number> {
  const status = await readFile(`/proc/${system.api.pid}/status`, 'utf8');
  return Number(/VmRSS:\s+(\d+)/.exec(status)?.[1]) / 1_024;
}

/** Ten times in a row, another client is served, and memory is within its limit. */
async function expectStable(maxMb = MAX_MB): Promise<void> {
  for (let times = 0; times < 10; times += 1) {
    await useApi(system.api.port, account);
    expect((await readMb()) - beforeMb).toBeLessThan(maxMb);
  }
}

describeOnLinux('memory is bounded while clients', () => {
  test('send endless bodies as fast as possible', async () => {
    beforeMb = await readMb();
    const chunked = await Promise.all(
      [...BODY_PATHS, '/healthz'].map((path) => attack(2, post(path, 'Transfer-Encoding: chunked\r\n'))),
    );
    const terabytes = await attack(4, post('/api/cli/monitors', 'Content-Length: 10000000000000\r\n'));
    for (const client of chunked.flat()) flood(client, CHUNK);
    for (const client of terabytes) flood(client, Buffer.alloc(0x10000, ' '));
    await expectStable();
  });

  test('send floods of header lines, requests and garbage', async () => {
    beforeMb = await readMb();
    await attack(20, `GET / HTTP/1.1\r\nHost: a\r\n${'A: b\r\n'.repeat(20_000)}`);
    await attack(5, listRequest().repeat(1_000));
    await attack(20, Buffer.alloc(100_000, 0xff));
    await expectStable();
  });

  test('request long lists and read them slowly', async () => {
    await createLongList(system, account);
    beforeMb = await readMb();
    for (const reader of await attack(15, listRequest())) {
      await until('the beginning of a response', () => reader.received() !== '' || reader.isClosed());
      readSlowly(reader);
    }
    await expectStable();
  });

  test('stay connected: ten thousand idle ones, and some with unfinished requests', async () => {
    beforeMb = await readMb();
    await attack(100, SLOW_HEAD);
    await attack(100, post('/api/auth/sign-in/email', 'Content-Length: 9\r\n'));
    await openIdle();
    const all = attackers.length;
    await until('all connections', async () => (await countConnections(system.api.port)) >= all);
    await expectStable(MAX_MB_WITH_IDLE);
    expect(attackers.filter(({ isClosed }) => isClosed())).toEqual([]);
  });
});

/** Opens as many as the limit on open files allows, and as the machine opens in half a minute. */
async function openIdle(): Promise<void> {
  const limits = await readFile('/proc/self/limits', 'utf8');
  const wanted = Math.min(IDLE_CONNECTIONS, Number(/Max open files\s+(\d+)/.exec(limits)?.[1]) - 1_000);
  const deadline = performance.now() + OPEN_IDLE_WITHIN_MS;
  let opened = 0;
  for (let address = 2; opened < wanted && performance.now() < deadline; address += 1)
    opened += (await attack(Math.min(500, wanted - opened), null, `127.0.0.${address}`)).length;
  if (opened < IDLE_CONNECTIONS)
    process.stderr.write(`Only ${opened} of ${IDLE_CONNECTIONS} idle connections are open.\n`);
}
