import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { until } from '@tocsin/embedded/testing/until';
import { connectRedis, type RedisClient } from '@tocsin/queue/redis-store';
import { parseStoreUrl } from '@tocsin/queue/store-url';
import { Cluster, type Redis } from 'ioredis';

/** The first byte of a TLS connection. */
const HANDSHAKE = 0x16;

/** First bytes of each connection. */
let begun: (number | undefined)[];
const sockets = new Set<Socket>();
const server = createServer((socket) => {
  sockets.add(socket);
  socket.on('close', () => sockets.delete(socket));
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
  const closed = once(server, 'close');
  server.close();
  // The client may have forgotten a connection that has sent nothing.
  for (const socket of sockets) socket.destroy();
  await closed;
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
])('%s:// uses TLS only if the URL says so', async (scheme, path, tls) => {
  connect(scheme, path);
  await until('a connection', () => begun.length > 0);
  expect(begun[0] === HANDSHAKE).toBe(tls);
});

test('a connection to a silent server is replaced', async () => {
  /** The connection of the first ping, which gets no response. */
  let silenced: Socket | undefined;
  const silent = createServer((socket) => {
    socket.on('error', () => undefined);
    socket.on('data', (bytes) => {
      const commands = bytes.toString().match(/^\*\d+\r$/gm)?.length ?? 0;
      if (bytes.includes('ping')) silenced ??= socket;
      if (socket !== silenced) socket.write('+OK\r\n'.repeat(commands));
    });
  });
  silent.listen(0, '127.0.0.1');
  await once(silent, 'listening');
  const url = `redis://127.0.0.1:${(silent.address() as AddressInfo).port}`;
  client = connectRedis({ kind: 'redis', url }, 'worker', 300);
  client.on('error', () => undefined);
  try {
    await until('a connection', () => client?.status === 'ready');
    await client.ping();
    expect(silenced).toBeDefined();
  } finally {
    silent.close();
  }
});

test('a cluster over TLS connects to its nodes by name, as certificates require', async () => {
  const cluster = connect('rediss+cluster');
  if (!(cluster instanceof Cluster)) throw new Error('no cluster');
  // The server ends each connection, and the cluster forgets the node then.
  const [node] = (await once(cluster, '+node')) as [Redis];
  expect(node.options.host).toBe('localhost');
});
