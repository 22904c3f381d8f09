import { once } from 'node:events';
import net, { type AddressInfo, type Socket } from 'node:net';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect, test } from '@jest/globals';
import { until } from '@tocsin/embedded/testing/until';
import { TurnLimit } from './turn-limit.ts';

/** Lists started tasks, and starts one within the limit. */
function begin(limit: TurnLimit): { readonly began: unknown[]; readonly take: (what: unknown) => void } {
  const began: unknown[] = [];
  const take = async (what: unknown): Promise<void> => {
    await limit.take();
    began.push(what);
  };
  return { began, take: (what) => void take(what) };
}

/** Makes two connected sockets, and a function that closes them. */
async function connectedPair(): Promise<{ pair: [Socket, Socket]; close: () => void }> {
  const server = net.createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const client = net.connect((server.address() as AddressInfo).port, '127.0.0.1');
  const [[socket]] = (await Promise.all([once(server, 'connection'), once(client, 'connect')])) as [
    [Socket],
    unknown,
  ];
  const close = (): void => {
    client.destroy();
    socket.destroy();
    server.close();
  };
  return { pair: [client, socket], close };
}

test('tasks beyond the limit begin later, in the order of the calls', async () => {
  const { began, take } = begin(new TurnLimit(2));
  for (const index of [0, 1, 2, 3, 4]) take(index);
  for (let promises = 0; promises < 10; promises += 1) await Promise.resolve();
  expect(began).toEqual([0, 1]);
  await until('all began', () => began.length === 5);
  expect(began).toEqual([0, 1, 2, 3, 4]);
});

test('received data is read before more tasks than the limit begin', async () => {
  const { began, take } = begin(new TurnLimit(2));
  const { pair, close } = await connectedPair();
  const [client, socket] = pair;
  client.on('data', () => {
    for (const index of [0, 1, 2, 3]) take(index);
    client.write('arrives at once');
  });
  socket.on('data', () => began.push('read'));
  socket.write('begin');
  await until('all began', () => began.length === 5);
  expect(began).toEqual([0, 1, 'read', 2, 3]);
  close();
});

test('tasks begin at once again when none is waiting', async () => {
  const { began, take } = begin(new TurnLimit(2));
  for (const index of [0, 1, 2]) take(index);
  await until('all began', () => began.length === 3);
  for (let turns = 0; turns < 3; turns += 1) await nextTurn();
  for (const index of [3, 4, 5]) take(index);
  for (let promises = 0; promises < 10; promises += 1) await Promise.resolve();
  expect(began).toEqual([0, 1, 2, 3, 4]);
  await until('all began', () => began.length === 6);
});
