import { once } from 'node:events';
import net from 'node:net';
import { afterAll, expect, test } from '@jest/globals';
import { SERVER_PORTS } from '@tocsin/embedded/ports';
import { ConnectionWatch } from './connection-watch.ts';

const watch = new ConnectionWatch();
afterAll(() => watch.stop());

async function attempt(host: string, port: number): Promise<void> {
  const socket = net.connect({ host, port });
  socket.on('error', () => undefined);
  await once(socket, 'connectionAttempt');
  socket.destroy();
}

const { first, last } = SERVER_PORTS;

test.each([1, first - 1, first, last, last + 1, 32_767, 32_768, 65_535])(
  'an attempt at an address without servers is noted, at port %i',
  async (port) => {
    await attempt('127.0.0.2', port);
    expect(watch.take()).toEqual(['127.0.0.2']);
    expect(watch.take()).toEqual([]);
  },
);

test.each([
  [1, true],
  [first - 1, true],
  [first, false],
  [last, false],
  [last + 1, true],
  [32_767, true],
  [32_768, false],
  [65_535, false],
])('at an address of servers, an attempt at port %i is noted: %s', async (port, isNoted) => {
  await attempt('127.0.0.1', port);
  expect(watch.take()).toEqual(isNoted ? ['127.0.0.1'] : []);
});
