import type { RequestListener } from 'node:http';
import { connect, type Socket } from 'node:net';
import { afterEach, describe, expect, test } from '@jest/globals';
import { problemSchema } from '@tocsin/contracts/errors';
import { until } from '@tocsin/embedded/testing/until';
import { type HttpLimits, type HttpServer, startHttpServer } from './http-server.ts';

let server: HttpServer | undefined;
const sockets: Socket[] = [];
afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.destroy();
  await server?.stop();
});

const HEAD = 'GET / HTTP/1.1\r\nHost: a\r\n';

async function serve(app: RequestListener, limits: Partial<HttpLimits> = {}): Promise<void> {
  server = await startHttpServer(app, { port: 0 }, limits);
}

interface Client {
  readonly socket: Socket;
  received: string;
  readonly closed: Promise<unknown>;
}

/** @param text what is sent; the client's side stays open */
function client(text: string | Buffer): Client {
  const socket = connect({ port: server?.port ?? 0, host: '127.0.0.1', allowHalfOpen: true });
  sockets.push(socket);
  const one: Client = {
    socket,
    received: '',
    closed: new Promise((resolve) => socket.once('close', resolve)),
  };
  socket.on('error', () => undefined);
  socket.setEncoding('latin1').on('data', (chunk: string) => (one.received += chunk));
  // A hostile client does not close its side: writing then shows whether the connection is closed.
  const poke = setInterval(() => socket.readableEnded && socket.write('x'), 20);
  socket.once('close', () => clearInterval(poke));
  socket.write(text);
  return one;
}

async function exchange(text: string): Promise<string> {
  const one = client(text);
  await one.closed;
  return one.received;
}

function expectProblem(response: string, status: number): void {
  const [head = '', body = ''] = response.split('\r\n\r\n');
  expect(head).toMatch(new RegExp(`^HTTP/1.1 ${status} `));
  const requestId = /X-Request-Id: (\S+)/.exec(head)?.[1];
  expect(head).toContain('Content-Type: application/problem+json');
  expect(problemSchema.parse(JSON.parse(body))).toMatchObject({ status, instance: requestId });
}

const respondWithUrl: RequestListener = (req, res) => {
  res.setHeader('Connection', 'close').end(`url ${req.url} ${req.headers['transfer-encoding'] ?? ''}`);
};

describe('an invalid request head', () => {
  test.each([
    ['no Host', 'GET / HTTP/1.1\r\n\r\n', 400],
    ['two of Host', `${HEAD}Host: b\r\n\r\n`, 400],
    ['a target that is no URL', 'GET http://[::1/ HTTP/1.1\r\nHost: a\r\n\r\n', 400],
    ['a target of another scheme', 'GET gopher://a/ HTTP/1.1\r\nHost: a\r\n\r\n', 400],
    ['more header lines than are read', `${HEAD}${'A: b\r\n'.repeat(200)}\r\n`, 431],
    ['a longer head than is read', `${HEAD}A: ${'b'.repeat(20_000)}\r\n\r\n`, 431],
    ['a length given twice', `${HEAD}Content-Length: 1\r\nContent-Length: 2\r\n\r\n`, 400],
    ['a length and chunks', `${HEAD}Content-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n`, 400],
    ['a folded line', `${HEAD}A: b\r\n c: d\r\n\r\n`, 400],
    ['lines that end in LF alone', 'GET / HTTP/1.1\nHost: a\n\n', 400],
    ['a blank before the colon', `${HEAD}Transfer-Encoding : chunked\r\n\r\n`, 400],
    ['a coding that is none', `${HEAD}Transfer-Encoding: xchunked\r\n\r\n`, 400],
  ])('%s: error response', async (_, text, status) => {
    let handled = 0;
    await serve(() => (handled += 1));
    expectProblem(await exchange(text), status);
    expect(handled).toBe(0);
  });

  test.each([
    ['a whole URL as target', 'GET http://b/c?d=e HTTP/1.1\r\nHost: b\r\n\r\n', 'url /c?d=e'],
    ['no Host in HTTP/1.0', 'GET /c HTTP/1.0\r\n\r\n', 'url /c'],
    ['an expectation that is none of ours', 'GET /c HTTP/1.1\r\nHost: a\r\nExpect: b\r\n\r\n', 'url /c'],
  ])('%s: accepted', async (_, text, response) => {
    await serve(respondWithUrl);
    expect(await exchange(text)).toContain(response);
  });

  test('invalid header lines are found, however many lines come before them', async () => {
    await serve(respondWithUrl, { headerLines: 3_000 });
    expect(
      await exchange(`${HEAD}${'A:\r\n'.repeat(1_500)}Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n`),
    ).toContain('url / chunked');
  });
});

describe('a client that is slow', () => {
  test.each([
    ['says nothing', ''],
    ['does not end its head', 'GET / HTTP/1.1\r\nHost'],
    ['does not end its body', `POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\na`],
    ['does not end its chunks', `POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n`],
  ])('and %s gets an error and is disconnected, even if it does not close', async (_, text) => {
    await serve(() => undefined, { headMs: 100, requestMs: 200 });
    expectProblem(await exchange(text), 408);
  });

  test('and sends invalid chunks gets an error and is disconnected, even if it does not close', async () => {
    await serve(() => undefined);
    const head = 'POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n';
    expectProblem(await exchange(`${head}zz\r\n`), 400);
  });

  test('to send another request is disconnected', async () => {
    await serve((_req, res) => res.end('done'), { keepAliveMs: 100 });
    expect(await exchange(`${HEAD}\r\n`)).toContain('done');
  });

  /** Shortens only this limit: on a busy machine, the others would end the requests of clients that do read their responses. */
  const UNREAD = { responseMs: 100 };

  test('to read a response is disconnected, and others are served', async () => {
    let length = 0;
    await serve((req, res) => {
      if (req.url === '/long') res.once('close', () => (length = res.socket?.bytesWritten ?? -1));
      res.end(Buffer.alloc(req.url === '/long' ? 50_000_000 : 5));
    }, UNREAD);
    const reader = client('GET /long HTTP/1.1\r\nHost: a\r\n\r\n');
    reader.socket.pause();
    await until('the response is cut off', () => length !== 0);
    expect(await exchange(`${HEAD}Connection: close\r\n\r\n`)).toMatch(/^HTTP\/1.1 200/);
  });

  test('to read a compressed response is disconnected, but not from a live stream', async () => {
    const gone: string[] = [];
    await serve((req, res) => {
      res.once('close', () => gone.push(req.url ?? ''));
      // Helmet has set headers by then.
      res.setHeader('A', 'b');
      res.writeHead(200, { 'Content-Type': req.url === '/stream' ? 'text/event-stream' : 'text/plain' });
      res.write('begun');
    }, UNREAD);
    client('GET /stream HTTP/1.1\r\nHost: a\r\n\r\n');
    for (const path of ['/first', '/second'])
      expect(await exchange(`GET ${path} HTTP/1.1\r\nHost: a\r\n\r\n`)).toMatch(/begun\r\n$/);
    expect(gone).toEqual(['/first', '/second']);
  });

  test('to read is disconnected first if it has waited longest and unread bytes exceed the maximum', async () => {
    const gone: string[] = [];
    await serve(
      (req, res) => {
        res.once('close', () => gone.push(req.url ?? ''));
        res.end(Buffer.alloc(30_000_000));
      },
      // More than one response: the part of each that the kernel has buffered is not counted.
      { unsentBytes: 35_000_000 },
    );
    const readers = ['/first', '/second'].map((path) => client(`GET ${path} HTTP/1.1\r\nHost: a\r\n\r\n`));
    for (const { socket } of readers) socket.pause();
    await until('one makes room', () => gone[0]);
    expect(gone).toHaveLength(1);
    readers[gone[0] === '/first' ? 1 : 0]?.socket.resume();
    // The server finishes when everything is sent; the client receives it later.
    await until('the other one has its response', () =>
      readers.some(({ received }) => received.length > 30_000_000),
    );
  });
});

describe('pipelined requests', () => {
  test('get their responses in order', async () => {
    await serve((req, res) => res.end(`<${req.url}>`), { keepAliveMs: 100 });
    const responses = await exchange(
      Array.from({ length: 20 }, (_, index) => `GET /${index} HTTP/1.1\r\nHost: a\r\n\r\n`).join(''),
    );
    expect(responses.match(/<\/\d+>/g)).toEqual(Array.from({ length: 20 }, (_, index) => `</${index}>`));
  });

  test('beyond the limit end the connection, and no more of them begin', async () => {
    let begun = 0;
    await serve(() => (begun += 1), { pipelined: 10 });
    expect(await exchange(`${HEAD}\r\n`.repeat(500))).toBe('');
    expect(begun).toBe(10);
  });

  test('get no error response to invalid HTTP inside another response', async () => {
    await serve((_req, res) => res.write('begun'));
    const one = client(`${HEAD}\r\n`);
    await until('the response has begun', () => one.received.includes('begun'));
    one.socket.write('NONSENSE\r\n\r\n');
    await one.closed;
    expect(one.received.split('HTTP/1.1')).toHaveLength(2);
  });

  test('get no error response to invalid HTTP in place of a request in progress', async () => {
    await serve(() => undefined);
    expect(await exchange(`${HEAD}\r\nNONSENSE\r\n\r\n`)).toBe('');
  });
});
