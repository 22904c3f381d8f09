import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { createMonitorSchema } from '@tocsin/contracts/monitor';
import { createMonitor } from '@tocsin/db/monitors/create-monitor';
import { until } from '@tocsin/embedded/testing/until';
import { openAccount, type Account } from '@tocsin/fuzz/world/account';
import { Bystander } from '@tocsin/fuzz/world/bystander';
import { openSystem, type FuzzSystem } from '@tocsin/fuzz/world/system';
import { keepSaying, openHostileClient, pour, type HostileClient } from '@tocsin/fuzz/wire/hostile-client';
import { WireClient } from '@tocsin/fuzz/wire/send';
import { afterAll, afterEach, beforeAll, describe, expect, jest, test } from '@jest/globals';

/** What an ordinary request may take while others attack, on a machine that does much else. */
const SOON_MS = 60_000;
const CALM_WITHIN_MS = 180_000;
const MOST_MB = 150;
const SLOW_HEAD = 'GET /api/cli/monitors HTTP/1.1\r\nHost: a\r\nX-A: ';
const BODY_PATHS = ['/api/cli/monitors', '/api/dashboard/invitations/accept', '/api/auth/sign-in/email'];
/** Attacks take seconds, and on a machine that does much else minutes. */
jest.setTimeout(300_000);
const onLinux = process.platform === 'linux' ? describe : describe.skip;

let system: FuzzSystem;
let account: Account;
let bystander: Bystander;
let attackers: HostileClient[] = [];
beforeAll(async () => {
  system = await openSystem({ API_REQUEST_TIMEOUT_SECONDS: '1', API_KEEP_ALIVE_SECONDS: '1' });
  account = await openAccount(system, new WireClient(system.api.port));
  bystander = new Bystander(system, account);
  await bystander.ask(SOON_MS);
});
afterAll(() => system.close());

let before: { files: number; mb: number };
/** As before: nobody is left, and nothing was said that is an error. */
afterEach(async () => {
  for (const { socket } of attackers) socket.destroy();
  attackers = [];
  await until('all are gone', async () => (await bystander.openFiles()) <= before.files + 5, CALM_WITHIN_MS);
  const lines = await system.newLogLines();
  expect(lines.filter(({ level }) => level === 'error')).toEqual([]);
  await bystander.ask(SOON_MS);
});

async function attack(
  count: number,
  text: string | Buffer | null,
  localAddress = '127.0.0.1',
  port = system.api.port,
): Promise<HostileClient[]> {
  const opened = await Promise.all(
    Array.from({ length: count }, () => openHostileClient(port, localAddress)),
  );
  attackers.push(...opened);
  if (text !== null) for (const { socket } of opened) socket.write(text);
  return opened;
}

async function remember(): Promise<void> {
  before = { files: await bystander.openFiles(), mb: await bystander.memoryMb() };
}

/** Others are served, and memory is bounded, until the api has let go of all of the attackers, who would stay. */
async function expectCalmUntilOver(those: readonly HostileClient[], mostMb: number = MOST_MB): Promise<void> {
  await until(
    'the attackers are let go',
    async () => {
      await bystander.ask(SOON_MS);
      expect((await bystander.memoryMb()) - before.mb).toBeLessThan(mostMb);
      const isAlone = (await bystander.openFiles()) <= before.files + 5;
      return isAlone && those.every(({ isOver }) => isOver());
    },
    CALM_WITHIN_MS,
  );
}

const post = (path: string, headers: string): string =>
  `POST ${path} HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${account.key}\r\nContent-Type: application/json\r\n${headers}\r\n`;

onLinux('others are served, and it comes to an end, when clients', () => {
  test('send a byte of their requests now and then, or less than they said', async () => {
    await remember();
    const heads = await attack(100, SLOW_HEAD);
    const bodies = await Promise.all(
      BODY_PATHS.map((path) => attack(20, post(path, 'Content-Length: 1000\r\n'))),
    );
    const short = await attack(20, `${post('/api/cli/monitors', 'Content-Length: 100\r\n')}{}`);
    const halfClosed = await attack(20, `${post('/api/cli/monitors', 'Content-Length: 100\r\n')}{}`);
    for (const one of heads) keepSaying(one, 'a', 100);
    for (const one of bodies.flat()) keepSaying(one, ' ', 100);
    for (const { socket } of halfClosed) socket.end();
    await expectCalmUntilOver([...heads, ...bodies.flat(), ...short, ...halfClosed]);
    expect(heads[0]?.received()).toMatch(/^HTTP\/1\.1 408 /);
  });

  test('send bodies that never end, as fast as they can', async () => {
    await remember();
    const chunk = Buffer.concat([Buffer.from('10000\r\n'), Buffer.alloc(0x10000, ' '), Buffer.from('\r\n')]);
    const chunked = await Promise.all(
      [...BODY_PATHS, '/healthz'].map((path) => attack(2, post(path, 'Transfer-Encoding: chunked\r\n'))),
    );
    const terabytes = await attack(4, post('/api/cli/monitors', 'Content-Length: 10000000000000\r\n'));
    for (const one of chunked.flat()) pour(one, chunk);
    for (const one of terabytes) pour(one, Buffer.alloc(0x10000, ' '));
    await expectCalmUntilOver([...chunked.flat(), ...terabytes]);
  });

  test('send floods of header lines, of requests, and of nonsense', async () => {
    await remember();
    const lines = await attack(20, `GET / HTTP/1.1\r\nHost: a\r\n${'A: b\r\n'.repeat(20_000)}`);
    const requests = await attack(5, listRequest().repeat(1_000));
    const nonsense = await attack(20, Buffer.alloc(100_000, 0xff));
    await expectCalmUntilOver([...lines, ...requests, ...nonsense]);
  });

  test('ask for long lists and read a byte now and then', async () => {
    await createLongList();
    await remember();
    for (let reader = 0; reader < 15; reader += 1) {
      const [one] = await attack(1, listRequest());
      if (one === undefined) throw new Error('nobody attacks');
      // The answer is made, and read no further than to here.
      await once(one.socket, 'data');
      one.socket.pause().removeAllListeners('data');
      const timer = setInterval(() => one.socket.read(1), 50).unref();
      one.socket.once('close', () => clearInterval(timer));
    }
    await expectCalmUntilOver([]);
  });

  test('send on after they have opened a live stream', async () => {
    await remember();
    const sending = await attack(5, `${streamHead()}Transfer-Encoding: chunked\r\n\r\n`);
    for (const one of sending) keepSaying(one, '1\r\na\r\n', 50);
    await expectCalmUntilOver(sending);
    // Nothing of another answer is in a stream that had begun.
    const answers = sending.map(({ received }) => received().split('HTTP/1.1 ').length - 1);
    expect(answers).toEqual(sending.map(() => 1));
  });
});

onLinux('ten thousand idle connections, and some that are not done', () => {
  test('are in nobody’s way while they stay', async () => {
    const patient = await openSystem({ API_REQUEST_TIMEOUT_SECONDS: '300' });
    try {
      const { port } = patient.api;
      const user = new Bystander(patient, await openAccount(patient, new WireClient(port)));
      await user.ask(SOON_MS);
      before = { files: await bystander.openFiles(), mb: await user.memoryMb() };
      await attack(100, SLOW_HEAD, '127.0.0.1', port);
      await attack(100, post('/api/auth/sign-in/email', 'Content-Length: 9\r\n'), '127.0.0.1', port);
      await openIdle(port);
      const all = attackers.length;
      await until('all are connected', async () => (await acceptedOn(port)) >= all, CALM_WITHIN_MS);
      await user.ask(SOON_MS);
      expect((await user.memoryMb()) - before.mb).toBeLessThan(300);
      expect(attackers.filter(({ isOver }) => isOver())).toEqual([]);
    } finally {
      await patient.close();
    }
  });
});

/** Connections to a port that its process has accepted: those that still wait for it have no inode (proc(5)). */
async function acceptedOn(port: number): Promise<number> {
  const tables = await Promise.all(['tcp', 'tcp6'].map((name) => readFile(`/proc/net/${name}`, 'utf8')));
  const local = `:${port.toString(16).toUpperCase().padStart(4, '0')}`;
  const rows = tables.join('\n').split('\n');
  return rows.filter((row) => {
    const [, address = '', , state, , , , , , inode] = row.trim().split(/\s+/);
    return address.endsWith(local) && state === '01' && inode !== '0';
  }).length;
}

/** Ten thousand, or as many as this machine lets two processes have, and opens in half a minute. */
async function openIdle(port: number): Promise<void> {
  const limits = await readFile('/proc/self/limits', 'utf8');
  const wanted = Math.min(10_000, Number(/Max open files\s+(\d+)/.exec(limits)?.[1]) - 1_000);
  const deadline = performance.now() + 30_000;
  let opened = 0;
  for (let address = 2; opened < wanted && performance.now() < deadline; address += 1) {
    opened += (await attack(Math.min(500, wanted - opened), null, `127.0.0.${address}`, port)).length;
  }
  if (opened < 10_000) process.stderr.write(`Only ${opened} idle connections, of 10,000 that are wanted.\n`);
}

function listRequest(): string {
  return `GET /api/cli/monitors HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${account.key}\r\n\r\n`;
}

function streamHead(): string {
  return `GET /api/dashboard/stream HTTP/1.1\r\nHost: a\r\nCookie: ${account.owner.cookie}\r\n`;
}

/** Three and a half megabytes. */
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
