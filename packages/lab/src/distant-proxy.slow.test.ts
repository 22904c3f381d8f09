import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { afterEach, expect, it } from '@jest/globals';
import { DistantProxy, type DistantProxyOptions } from './distant-proxy.ts';
import { Random } from './random.ts';

const stops: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const stop of stops.splice(0).toReversed()) await stop();
});

/** @returns the port */
async function listen(onConnection: (socket: Socket) => void): Promise<number> {
  const server = createServer({ allowHalfOpen: true }, onConnection);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  stops.push(async () => void server.close());
  return (server.address() as AddressInfo).port;
}

/** A client of a server on a port, through a proxy. */
async function connectThrough(port: number, options: DistantProxyOptions): Promise<Socket> {
  const url = `tcp://127.0.0.1:${port}`;
  const proxy = await DistantProxy.start(url, options);
  stops.push(() => proxy.stop());
  const client = connect({
    port: Number(new URL(proxy.through(url)).port),
    host: '127.0.0.1',
    allowHalfOpen: true,
  });
  stops.push(async () => void client.destroy());
  await once(client, 'connect');
  return client;
}

const echo = (socket: Socket): void => {
  socket.on('error', () => undefined).pipe(socket);
};

it.each([
  ['a distance', {}],
  ['stalls', { stalls: { share: 0.3, lastMs: 3, random: seeded() } }],
])('forwards all bytes in order in both directions over %s', async (_name, options) => {
  const client = await connectThrough(await listen(echo), { roundTripMs: 4, ...options });
  const sent = Buffer.from(Array.from({ length: 300_000 }, (_, index) => index % 251));
  for (let from = 0; from < sent.length; from += 1_000) client.write(sent.subarray(from, from + 1_000));
  client.end();
  expect((await buffer(client)).equals(sent)).toBe(true);
});

it('takes a round trip to connect, and one for a request and its response', async () => {
  const roundTripMs = 40;
  const startedAt = performance.now();
  const client = await connectThrough(await listen(echo), { roundTripMs });
  client.write('ping');
  await once(client, 'data');
  // Timers may fire one millisecond early, and three are involved.
  expect(performance.now() - startedAt).toBeGreaterThan(2 * roundTripMs - 3);
});

function seeded(): () => number {
  const random = new Random(1);
  return () => random.next();
}
