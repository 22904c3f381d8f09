import { once } from 'node:events';
import { systemActor } from '@tocsin/db/audit-log/actor';
import { createServer, type Server } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { afterAll, expect, test } from '@jest/globals';
import { until } from '@tocsin/embedded/testing/until';
import { createSilentLogger } from '@tocsin/runtime/logger';
import express from 'express';
import { handleErrors } from './errors.ts';
import { parseJsonBody } from './json-body.ts';
import { boundLargeBodies } from './large-bodies.ts';
import { stateOf } from './request-state.ts';

const LARGE = 1_000_000;
/** Number of admitted requests. */
let passed = 0;

async function serve(waitMs: number): Promise<Server> {
  const app = express();
  app.use((req, res, next) => {
    const accountId = req.get('x-account') ?? '';
    const key = { apiKeyId: 'k', userId: null, role: null, sessionId: null };
    stateOf(res).caller = { ...systemActor(accountId), id: 'k', canWrite: true, ...key };
    next();
  });
  app.put('/slow', () => undefined);
  app.use(boundLargeBodies(waitMs), (_req, _res, next) => {
    passed += 1;
    next();
  });
  app.use(parseJsonBody(2 * LARGE), (_req, res) => void res.json({}));
  app.use(handleErrors(createSilentLogger()));
  const server = createServer(app).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return server;
}

/** One server that soon refuses waiting requests, and one that lets them wait. */
const servers = [await serve(50), await serve(600_000)] as const;
afterAll(() => {
  for (const server of servers) {
    server.close();
    server.closeAllConnections();
  }
});

const portOf = (server: Server): number => (server.address() as AddressInfo).port;
const head = (account: string, header: string, path = '/'): string =>
  `PUT ${path} HTTP/1.1\r\nHost: x\r\nX-Account: ${account}\r\nContent-Type: application/json\r\n${header}\r\n\r\n`;

/** A client that sends part of its request and then stops. */
async function begin(server: Server, text: string): Promise<Socket> {
  const former = passed;
  const socket = connect(portOf(server), '127.0.0.1');
  socket.on('error', () => undefined);
  socket.write(text);
  await until('the request has passed', () => passed > former);
  return socket;
}

async function put(server: Server, account: string, text: string): Promise<Response> {
  const headers = { 'X-Account': account, 'Content-Type': 'application/json' };
  return fetch(`http://127.0.0.1:${portOf(server)}/`, { method: 'PUT', headers, body: text });
}

const large = JSON.stringify({ a: 'x'.repeat(LARGE) });
const largeHead = (account: string): string => head(account, `Content-Length: ${LARGE}`);

test('the server reads one large body per account and two in total, and responds with 503 to others', async () => {
  const [impatient] = servers;
  const first = await begin(impatient, largeHead('a'));
  const same = await put(impatient, 'a', large);
  expect([same.status, same.headers.get('retry-after')]).toEqual([503, '5']);
  expect((await put(impatient, 'b', large)).status).toBe(200);
  const second = await begin(impatient, head('b', 'Transfer-Encoding: chunked'));
  expect((await put(impatient, 'c', large)).status).toBe(503);
  // A small body is not limited.
  expect((await put(impatient, 'a', '{}')).status).toBe(200);
  first.destroy();
  second.destroy();
});

test('waiting requests are admitted in turn, even when the connection of the admitted request closes before its response begins', async () => {
  const [, patient] = servers;
  const first = await begin(patient, head('d', 'Content-Length: 0', '/slow') + largeHead('d'));
  const responses = [put(patient, 'd', large), put(patient, 'd', large)];
  first.destroy();
  expect((await Promise.all(responses)).map(({ status }) => status)).toEqual([200, 200]);
});
