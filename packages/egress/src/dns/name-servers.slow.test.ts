import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { holdPauses, useTestResolvers } from '../testing/test-resolvers.ts';

const BLOCKED_MS = 1_100;
const SENT_WITHIN_MS = 20_000;
/** More responses than fit into the receive buffer of one socket, but fewer queries than fit into the server's. */
const BURST = 400;
const SERVER_BUFFER_BYTES = 1_000_000;
const SLOW_SERVER = `
  const { parentPort, workerData } = require('node:worker_threads');
  const socket = require('node:dgram').createSocket({ type: 'udp4', recvBufferSize: ${SERVER_BUFFER_BYTES} });
  socket.on('message', (query, { port, address }) => {
    const record = Buffer.from([0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 0, 0, 4, 192, 0, 2, 60]);
    let end = 12;
    while (query[end] !== 0) end += query[end] + 1;
    const response = Buffer.concat([query.subarray(0, end + 5), record]);
    response.writeUInt16BE(0x8180, 2);
    response.writeUInt16BE(1, 6);
    response.writeUInt32BE(0, 8);
    const send = () => socket.send(response, port, address, () => {
      Atomics.add(workerData, 0, 1);
      Atomics.notify(workerData, 0);
    });
    setTimeout(send, query.toString('latin1', 13, 17) === 'slow' ? 1500 : 0);
  });
  socket.bind(0, '127.0.0.1', () => parentPort.postMessage(socket.address().port));
`;

const { server, resolver } = await useTestResolvers();

describe('a server in a separate thread', () => {
  /** Counts the responses that were sent. */
  const responses = new Int32Array(new SharedArrayBuffer(4));
  let slow: Worker;
  let servers: readonly string[];
  beforeAll(async () => {
    // Responds to each query with 192.0.2.60, after 1.5 s if the name begins with `slow`.
    slow = new Worker(SLOW_SERVER, { eval: true, workerData: responses });
    const [port] = (await once(slow, 'message')) as [number];
    servers = [`127.0.0.1:${port}`];
  });
  afterAll(() => slow.terminate());

  /** Returns a resolver whose c-ares has seen quick responses and therefore has a short timeout. */
  async function accustomed(): Promise<ReturnType<typeof resolver>> {
    const resolve = resolver({ servers, respondWithinMs: 1_500 });
    for (let count = 0; count < 5; count += 1) await resolve(`${count}.quick.example.org`, { family: 4 });
    return resolve;
  }

  test('may respond later than the query is repeated', async () => {
    const resolve = resolver({ servers, respondWithinMs: 500 });
    holdPauses();
    responses[0] = 0;
    expect(await resolve('slow.example.org', { family: 4 })).toEqual(['192.0.2.60']);
    expect(responses[0]).toBe(1);
  });

  test('may be slow for one name although it was quick for others', async () => {
    const resolve = await accustomed();
    expect(await resolve('slow.example.org', { family: 4 })).toEqual(['192.0.2.60']);
  });

  test('is read although each turn of the event loop takes longer than the timeout of c-ares', async () => {
    const resolve = await accustomed();
    let isOver = false;
    const result = resolve('quick.example.org', { family: 4 }).finally(() => (isOver = true));
    const block = (): void => {
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, BLOCKED_MS);
      if (!isOver) setTimeout(block, 1);
    };
    block();
    expect(await result).toEqual(['192.0.2.60']);
  });

  test('may send hundreds of responses before the first one is read', async () => {
    const resolve = resolver({ servers });
    responses[0] = 0;
    const results = Array.from({ length: BURST }, (_, index) =>
      resolve(`${index}.burst.example.org`, { family: 4 }),
    );
    for (let sent = 0; sent < BURST; sent = Atomics.load(responses, 0))
      if (Atomics.wait(responses, 0, sent, SENT_WITHIN_MS) === 'timed-out') break;
    expect(new Set((await Promise.all(results)).flat())).toEqual(new Set(['192.0.2.60']));
    expect(responses[0]).toBe(BURST);
  });
});

test('a thousand names without a response do not delay other names', async () => {
  const resolve = resolver();
  const names = Array.from({ length: 1_000 }, (_, index) => `${index}.silent.example.org`);
  for (const name of names) server.zone.set(name, 'silence');
  let ended = 0;
  for (const name of names) void resolve(name).then(() => (ended += 1));
  expect(await resolve('four.example.org')).toEqual(['192.0.2.4']);
  expect(ended).toBe(0);
});
