import { once } from 'node:events';
import { createServer, type AddressInfo } from 'node:net';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { connectRedis, type RedisClient } from '@tocsin/queue/redis-client';
import { parseStoreUrl } from '@tocsin/queue/store-url';
import { Cluster } from 'ioredis';
import { until } from './stores.ts';

/** The first byte of a TLS connection. */
const HANDSHAKE = 0x16;

/** The first bytes that connections began with. */
let begun: (number | undefined)[];
const server = createServer((socket) => {
  socket.on('error', () => undefined);
  socket.once('data', (bytes) => {
    begun.push(bytes[0]);
    socket.destroy();
  });
});
let client: RedisClient | undefined;
beforeEach(async () => {
  begun = [];
  server.listen(0);
  await once(server, 'listening');
});
afterEach(async () => {
  client?.disconnect();
  server.close();
  await once(server, 'close');
});

function connect(scheme: string, path = ''): RedisClient {
  const { port } = server.address() as AddressInfo;
  const address = parseStoreUrl(`${scheme}://localhost:${port}${path}`);
  if (address.kind === 'postgres') throw new Error('no Redis');
  client = connectRedis(address, 'worker');
  client.on('error', () => undefined);
  return client;
}

test.each([
  ['redis', '', false],
  ['rediss', '', true],
  ['redis+cluster', '', false],
  ['rediss+cluster', '', true],
  ['redis+sentinel', '/main', false],
  ['rediss+sentinel', '/main', true],
])('%s:// speaks TLS where it says so, and only there', async (scheme, path, tls) => {
  connect(scheme, path);
  await until('a connection', () => begun.length > 0);
  expect(begun[0] === HANDSHAKE).toBe(tls);
});

test('the nodes of a cluster over TLS are asked for by name: certificates are for names', async () => {
  const cluster = connect('rediss+cluster');
  if (!(cluster instanceof Cluster)) throw new Error('no cluster');
  await until('a node', () => cluster.nodes().length > 0);
  expect(cluster.nodes()[0]?.options.host).toBe('localhost');
});
