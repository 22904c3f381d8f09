import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { expect, test } from '@jest/globals';
import { isAlive } from './processes.ts';
import { type Readiness, waitUntilReady } from './readiness.ts';
import { probeRedis } from './redis.ts';

/** Starts a process that gives these responses to consecutive probes, and then no more. */
async function start(responses: Readiness[], signal?: AbortSignal) {
  const child = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)'], { stdio: 'ignore' });
  await once(child, 'spawn');
  const exit = once(child, 'exit');
  const waiting = waitUntilReady(child, {
    // A server that is killed ends the connection of a probe.
    probe: async () => responses.shift() ?? exit.then(() => 'silent'),
    stopSteps: [['SIGKILL', 60_000]],
    silentTimeoutMs: 0,
    signal,
  });
  return { child, exit, waiting };
}

test('a server may take its time to load data, but one that does not respond is stopped', async () => {
  const loading = await start(['loading', 'loading', 'loading', 'ready']);
  expect(await loading.waiting).toBeNull();
  expect(isAlive(loading.child)).toBe(true);
  loading.child.kill('SIGKILL');
  const silent = await start(['loading', 'silent']);
  expect(await silent.waiting).toBe('it did not respond for 0 s');
  await silent.exit;
});

test('canceling a start stops a server that is loading or does not respond', async () => {
  for (const responses of [[], Array<Readiness>(1_000).fill('loading')]) {
    const starting = new AbortController();
    const { exit, waiting } = await start(responses, starting.signal);
    starting.abort('stopped');
    await expect(waiting).rejects.toBe('stopped');
    await exit;
  }
});

test.each<[reply: string, Readiness]>([
  ['+OK\r\n+PONG\r\n', 'ready'],
  ['+OK\r\n-LOADING Redis is loading the dataset in memory\r\n', 'loading'],
  ['-WRONGPASS invalid username-password pair\r\n', 'refused'],
  ['+OK\r\n', 'silent'],
])('Redis that replies %j is %s', async (reply, readiness) => {
  const server = createServer((socket) => socket.on('error', () => undefined).end(reply));
  await once(server.listen(0, '127.0.0.1'), 'listening');
  expect(await probeRedis((server.address() as AddressInfo).port, 'secret')).toBe(readiness);
  server.close();
});
