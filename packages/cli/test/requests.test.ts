import { brotliCompressSync, gzipSync } from 'node:zlib';
import { expect, test } from '@jest/globals';
import { ApiError } from '@tocsin-monitor/cli/http/api-error';
import { clientOf, eventOf, type Handler, tooMany } from './fake-api.ts';

test('requests are repeated after temporary errors', async () => {
  const { client, retries, seen } = await clientOf([
    (_, res) => res.writeHead(429, { 'Retry-After': '0.05' }).end('{}'),
    (_, res) => res.writeHead(503).end('{}'),
    (_, res) => res.end(JSON.stringify({ event: eventOf('a', 1) })),
    (req) => req.socket.destroy(),
    (_, res) => res.writeHead(502).end('{}'),
    (_, res) => res.end(JSON.stringify({ monitors: [] })),
  ]);
  expect(await client.trigger('a', null)).toMatchObject({ id: 'a-1' });
  expect(await client.listMonitors()).toEqual([]);
  expect(retries.map((line) => line.replace(/ \(.*\)/, ''))).toEqual([
    'http://127.0.0.1 responded with 429 0.05',
    'http://127.0.0.1 responded with 503 0',
    'http://127.0.0.1 cannot be reached 0',
    'http://127.0.0.1 responded with 502 0',
  ]);
  expect(seen).toHaveLength(6);
});

test('a conflict is not repeated', async () => {
  const { client, seen } = await clientOf([(_, res) => res.writeHead(409).end('{}')]);
  await expect(client.putSet({ source: 's', monitors: [] }, null)).rejects.toMatchObject({ status: 409 });
  expect(seen).toHaveLength(1);
});

test('a trigger is not repeated after its deadline, even if the server sends Retry-After', async () => {
  const { client, retries } = await clientOf([
    (_, res) => res.writeHead(503, { 'Retry-After': '60' }).end('{}'),
  ]);
  await expect(client.trigger('a', null, performance.now() + 50_000)).rejects.toMatchObject({ status: 503 });
  expect(retries).toEqual([]);
});

test('a trigger that may have run is reported and not repeated', async () => {
  const { client, retries, seen } = await clientOf([
    (req) => req.socket.destroy(),
    (_, res) => res.writeHead(502).end('<html>'),
  ]);
  const text = 'cannot be reached.*The check may still have run';
  await expect(client.trigger('a', null)).rejects.toThrow(new RegExp(text));
  await expect(client.trigger('a', null)).rejects.toMatchObject({ status: 502 });
  expect([seen.length, retries]).toEqual([2, []]);
});

test('no content coding is requested, and none is decoded', async () => {
  const body = Buffer.from(JSON.stringify({ monitors: [] }));
  const { client, seen } = await clientOf(
    [brotliCompressSync(body), gzipSync(body)].map(
      (bytes, index) => (_, res) =>
        res.writeHead(200, { 'Content-Encoding': ['br', 'gzip'][index] }).end(bytes),
    ),
  );
  for (let request = 0; request < 2; request += 1)
    await expect(client.listMonitors()).rejects.toThrow(/Check TOCSIN_URL\./);
  expect(seen.map(({ headers }) => headers['accept-encoding'])).toEqual([undefined, undefined]);
});

test('a server other than Tocsin is reported and gets the key only once', async () => {
  const { client, seen } = await clientOf([
    (_, res) => res.writeHead(301, { Location: 'https://elsewhere.example' }).end(),
    (_, res) => res.writeHead(404).end('<html>'),
    (_, res) => res.end('<html>'),
    (_, res) => res.end('{"status":"ok"}'),
    (_, res) => res.writeHead(413).end('<html>'),
    (_, res) => res.writeHead(504).end('<html>'),
  ]);
  for (let request = 0; request < 4; request += 1)
    await expect(client.listMonitors()).rejects.toThrow(/Check TOCSIN_URL\./);
  await expect(client.listMonitors()).rejects.toThrow(/A proxy probably limits the size of requests/);
  await expect(client.listMonitors()).rejects.toThrow(/A proxy probably got no response from Tocsin in time/);
  expect(seen).toHaveLength(6);
});

const hanging: Handler = () => undefined;

test('a response is not awaited after the deadline', async () => {
  const [one, other, retried] = [
    await clientOf([hanging]),
    await clientOf([hanging]),
    await clientOf([tooMany, hanging]),
  ];
  const inTime = /did not respond in time/;
  await expect(one.client.listMonitors(performance.now() + 50)).rejects.toThrow(inTime);
  await expect(other.client.trigger('a', null, performance.now() + 50)).rejects.toThrow(inTime);
  // If no time is left for the second request, the error of the first one is thrown.
  await expect(retried.client.listMonitors(performance.now() + 300)).rejects.toThrow(ApiError);
});
