import { once } from 'node:events';
import { systemActor } from '@tocsin/db/audit-log/actor';
import { createServer } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { afterAll, expect, test } from '@jest/globals';
import { until } from '@tocsin/embedded/testing/until';
import { createSilentLogger } from '@tocsin/runtime/logger';
import express from 'express';
import { handleErrors } from './errors.ts';
import { parseJsonBody } from './json-body.ts';
import { LargeBodies } from './large-bodies.ts';
import { stateOf } from './request-state.ts';

const LARGE = 1_000_000;
/** Responses that wait until the test sends them. */
const processed: (() => void)[] = [];

const app = express();
app.use((req, res, next) => {
  const accountId = req.get('x-account') ?? '';
  const key = { apiKeyId: 'k', userId: null, role: null, sessionId: null };
  stateOf(res).caller = { ...systemActor(accountId), id: 'k', canWrite: true, ...key };
  next();
});
app.put('/behind', () => undefined);
app.use(parseJsonBody(2 * LARGE, new LargeBodies()));
app.put('/held', (_req, res) => void processed.push(() => res.json({})));
app.use((_req, res) => void res.json({}));
app.use(handleErrors(createSilentLogger()));
const server = createServer(app).listen(0, '127.0.0.1');
await once(server, 'listening');
const { port } = server.address() as AddressInfo;
afterAll(() => {
  server.close();
  server.closeAllConnections();
});

const head = (account: string, header: string, path = '/'): string =>
  `PUT ${path} HTTP/1.1\r\nHost: x\r\nX-Account: ${account}\r\nContent-Type: application/json\r\n${header}\r\n\r\n`;
const large = JSON.stringify({ a: 'x'.repeat(LARGE) });
const largeHead = (account: string): string => head(account, `Content-Length: ${LARGE}`);

interface Upload {
  readonly socket: Socket;
  received: string;
}

/** A client that sends part of its request and then stops. */
async function begin(text: string): Promise<Upload> {
  const requested = once(server, 'request');
  const upload: Upload = { socket: connect(port, '127.0.0.1'), received: '' };
  upload.socket.on('error', () => undefined).setEncoding('latin1');
  upload.socket.on('data', (chunk: string) => (upload.received += chunk));
  upload.socket.write(text);
  await requested;
  return upload;
}

async function put(account: string, text: string, path = '/'): Promise<number> {
  const headers = { 'X-Account': account, 'Content-Type': 'application/json' };
  const response = await fetch(`http://127.0.0.1:${port}${path}`, { method: 'PUT', headers, body: text });
  return response.status;
}

test('a slow upload gives way to an account without one: 503 for the oldest of the account with most of them', async () => {
  const uploads = [await begin(largeHead('a')), await begin(head('a', 'Transfer-Encoding: chunked'))];
  while (uploads.length < 4) uploads.push(await begin(largeHead(uploads.length === 2 ? 'b' : 'c')));
  // A small body does not wait.
  expect(await put('d', '{}')).toBe(200);
  expect(await put('d', large)).toBe(200);
  await until('the connection is closed', () => uploads[0]?.socket.closed);
  expect(uploads.map(({ received }) => received.split('\r\n')[0])).toEqual([
    'HTTP/1.1 503 Service Unavailable',
    '',
    '',
    '',
  ]);
  expect(uploads[0]?.received).toContain('Retry-After: 5');
  for (const { socket } of uploads) socket.destroy();
});

test('two bodies are processed at a time, also of one account, and further ones wait', async () => {
  const responses = Array.from({ length: 8 }, () => put('a', large, '/held'));
  for (let sent = 0; sent < 8; sent += 2) {
    await until('two bodies are processed', () => processed.length === sent + 2);
    processed[sent]?.();
    processed[sent + 1]?.();
  }
  expect(new Set(await Promise.all(responses))).toEqual(new Set([200]));
});

test('a waiting body is processed when the connection of another one closes before its response begins', async () => {
  const behind = await Promise.all(
    Array.from({ length: 2 }, () =>
      begin(
        head('d', 'Content-Length: 0', '/behind') +
          head('d', `Content-Length: ${large.length}`, '/held') +
          large,
      ),
    ),
  );
  processed.length = 0;
  await until('both bodies are processed', () => processed.length === 2);
  const waiting = put('d', large);
  for (const { socket } of behind) socket.destroy();
  expect(await waiting).toBe(200);
});
