import { once } from 'node:events';
import type { RequestListener, ServerResponse } from 'node:http';
import { connect, type Socket } from 'node:net';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { problemSchema } from '@tocsin/contracts/errors';
import { until } from '@tocsin/embedded/testing/until';
import { stopClock, type StoppedClock } from '../testing/stopped-clock.ts';
import { type HttpLimits, type HttpServer, startHttpServer } from './http-server.ts';
import { OpenRequests } from './open-requests.ts';

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

/** @param text is sent, and the client's side then stays open */
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
  // A hostile client does not close its side. Writing then shows whether the connection is closed.
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

function expectProblem(response: string, status: number, cause = 'request'): void {
  const [head = '', body = ''] = response.split('\r\n\r\n');
  expect(`${cause}: ${head}`).toContain(`${cause}: HTTP/1.1 ${status} `);
  const requestId = /X-Request-Id: (\S+)/.exec(head)?.[1];
  expect(head).toContain('Content-Type: application/problem+json');
  expect(problemSchema.parse(JSON.parse(body))).toMatchObject({ status, instance: requestId });
}

const respondWithUrl: RequestListener = (req, res) => {
  res.setHeader('Connection', 'close').end(`url ${req.url} ${req.headers['transfer-encoding'] ?? ''}`);
};

/** Sends all of these at once, because each closing of a connection takes time. @returns the responses by name */
async function exchangeAll<Name extends string>(texts: Record<Name, string>): Promise<[Name, string][]> {
  const named = Object.entries(texts) as [Name, string][];
  return Promise.all(named.map(async ([name, text]) => [name, await exchange(text)] as [Name, string]));
}

describe('a request head', () => {
  test('that is invalid gets an error response', async () => {
    let handled = 0;
    await serve(() => (handled += 1));
    const responses = await exchangeAll({
      'bytes that are not HTTP': 'NONSENSE\r\n\r\n',
      'no Host header': 'GET / HTTP/1.1\r\n\r\n',
      'two Host headers': `${HEAD}Host: b\r\n\r\n`,
      'a target that is not a URL': 'GET http://[::1/ HTTP/1.1\r\nHost: a\r\n\r\n',
      'too many header lines': `${HEAD}${'A: b\r\n'.repeat(200)}\r\n`,
      'a head that is too long': `${HEAD}A: ${'b'.repeat(20_000)}\r\n\r\n`,
      'Content-Length and chunks': `${HEAD}Content-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n`,
      'a folded line': `${HEAD}A: b\r\n c: d\r\n\r\n`,
      'lines that end in LF alone': 'GET / HTTP/1.1\nHost: a\n\n',
      'a space before the colon': `${HEAD}Transfer-Encoding : chunked\r\n\r\n`,
      'an unknown transfer coding': `${HEAD}Transfer-Encoding: xchunked\r\n\r\n`,
    });
    for (const [name, response] of responses)
      expectProblem(response, name.startsWith('too many') || name.endsWith('too long') ? 431 : 400, name);
    expect(handled).toBe(0);
  });

  test('is validated to the end, however many lines it has', async () => {
    await serve(respondWithUrl, { headerLines: 3_000 });
    const many = 'A:\r\n'.repeat(1_500);
    const response = await exchange(`${HEAD}${many}Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n`);
    expect(response).toContain('url / chunked');
  });
});

describe('a client that is slow', () => {
  test('to send a request gets an error and is disconnected, even if it does not close', async () => {
    await serve(() => undefined, { headMs: 100, requestMs: 200 });
    const post = 'POST / HTTP/1.1\r\nHost: a\r\n';
    const responses = await exchangeAll({
      nothing: '',
      'half a head': 'GET / HTTP/1.1\r\nHost',
      'half a body': `${post}Content-Length: 9\r\n\r\na`,
      'half of the chunks': `${post}Transfer-Encoding: chunked\r\n\r\n1\r\na\r\n`,
    });
    for (const [name, response] of responses) expectProblem(response, 408, name);
  });

  test('and sends invalid chunks gets an error and is disconnected', async () => {
    await serve(() => undefined);
    const head = 'POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n';
    expectProblem(await exchange(`${head}zz\r\n`), 400);
  });

  /** Shortens only this limit, because on a busy machine the others would end the requests of clients that do read their responses. */
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

  test('to read is disconnected while unread bytes exceed the maximum, if its account has most of them, and first if it has waited longest', async () => {
    const gone: string[] = [];
    await serve(
      (req, res) => {
        const [, accountId = '', number] = req.url?.split('/') ?? [];
        Object.assign(res, { locals: { caller: { accountId } } });
        res.once('close', () => gone.push(req.url ?? ''));
        res.end(Buffer.alloc(number === 'small' ? 20_000_000 : 30_000_000));
      },
      // The part of each response that the kernel has buffered is not counted.
      { unsentBytes: 75_000_000 },
    );
    const open = async (path: string): Promise<Client> => {
      const reader = client(`GET /${path} HTTP/1.1\r\nHost: a\r\n\r\n`);
      await until('the response begins', () => reader.received.length > 0);
      reader.socket.pause();
      return reader;
    };
    const other = await open('b/small');
    await open('a/first');
    const last = await open('a/second');
    await until('one makes room', () => gone[0]);
    expect(gone).toEqual(['/a/first']);
    for (const { socket } of [other, last]) socket.resume();
    // The server finishes when everything is sent, and the client receives it later.
    await until('the others have their responses', () =>
      [other, last].every(({ received }) => received.length >= 20_000_000),
    );
  });

  test('to read a long response is not disconnected while it reads', async () => {
    let sent = 0;
    await serve(
      (_req, res) => {
        const more = setInterval(() => res.write(String((sent += 1))), 20);
        res.once('close', () => clearInterval(more));
      },
      { responseMs: 300 },
    );
    const one = client(`${HEAD}\r\n`);
    await until('the response takes longer than the limit', () => sent > 40);
    expect(one.socket.closed).toBe(false);
  });
});

describe('pipelined requests', () => {
  test('beyond the limit end the connection, and none of them begin afterwards', async () => {
    let begun = 0;
    await serve(() => (begun += 1), { pipelined: 10 });
    expect(await exchange(`${HEAD}\r\n`.repeat(500))).toBe('');
    expect(begun).toBe(10);
  });

  test('get no error response to invalid HTTP inside another response, or in place of it', async () => {
    await serve((req, res) => void (req.url === '/begin' && res.write('begun')));
    const one = client('GET /begin HTTP/1.1\r\nHost: a\r\n\r\n');
    await until('the response has begun', () => one.received.includes('begun'));
    one.socket.write('NONSENSE\r\n\r\n');
    await one.closed;
    expect(one.received.split('HTTP/1.1')).toHaveLength(2);
    expect(await exchange(`${HEAD}\r\nNONSENSE\r\n\r\n`)).toBe('');
  });
});

test('responses that wait behind another are forgotten with their connection', async () => {
  const open = new OpenRequests();
  await serve((req, res) => open.add(req, res));
  const { socket } = client(`${HEAD}\r\n`.repeat(3));
  await until('the requests are open', () => [...open.responses()].length === 3);
  expect([...open.lastResponses()]).toEqual([...open.responses()].slice(2));
  socket.destroy();
  await until('they are forgotten', () => [...open.responses()].length === 0);
});

describe('at its start, the server', () => {
  test('reports in one line that its port is in use, or that its address is not of this machine', async () => {
    await serve(() => undefined);
    for (const [address, message] of [
      [{ port: server?.port ?? 0 }, /^PORT must be a free port, but \d+ is in use/],
      [{ port: 0, host: '192.0.2.1' }, /^HOST must be an IP address of this machine/],
    ] as const)
      await expect(startHttpServer(() => undefined, address)).rejects.toMatchObject({
        name: 'SettingsError',
        message: expect.stringMatching(message),
      });
  });

  // Only Linux has a second loopback address.
  (process.platform === 'linux' ? test : test.skip)('listens on the address of HOST alone', async () => {
    server = await startHttpServer(() => undefined, { port: 0, host: '127.0.0.1' });
    const socket = connect(server.port, '127.0.0.2');
    const [error] = (await once(socket, 'error')) as [NodeJS.ErrnoException];
    expect(error.code).toBe('ECONNREFUSED');
  });
});

describe('when it stops, the server', () => {
  let pending: ServerResponse | undefined;
  /** Serves requests that wait for `pending`, except for `/quick`. */
  const serveSlowly = async (): Promise<void> => {
    pending = undefined;
    await serve((req, res) => (req.url === '/quick' ? res.end('done') : (pending = res)));
  };
  const untilInProgress = () => until('the request is in progress', () => pending);
  /** With the clock stopped, the second that idle connections have for another request does not pass. */
  let clock: StoppedClock;
  beforeEach(() => {
    clock = stopClock();
  });
  afterEach(() => clock.restore());

  test('finishes requests in progress, and closes connections that never sent one', async () => {
    await serveSlowly();
    const unused = client('');
    await once(unused.socket, 'connect');
    // Accepted after the other connection.
    const received = exchange(`${HEAD}\r\n`);
    await untilInProgress();
    const stopped = server?.stop();
    clock.advance(1_001);
    await unused.closed;
    pending?.end('done');
    expect(await received).toMatch(/done$/);
    await stopped;
  });

  test('responds on a kept connection, and announces that it closes', async () => {
    await serveSlowly();
    const idle = client('GET /quick HTTP/1.1\r\nHost: a\r\n\r\n');
    const busy = client(`${HEAD}\r\n`);
    await untilInProgress();
    await until('the other request has its response', () => idle.received.endsWith('done'));
    expect(idle.received).toContain('Connection: keep-alive');
    const stopped = server?.stop();
    idle.socket.write('GET /quick HTTP/1.1\r\nHost: a\r\n\r\n');
    pending?.end('held');
    await Promise.all([idle.closed, busy.closed]);
    const again = idle.received.split('done')[1];
    for (const text of [again, busy.received])
      expect(text).toMatch(/^HTTP\/1\.1 200 OK\r\n[^]*Connection: close\r\n/);
    expect(busy.received).toMatch(/held$/);
    await stopped;
  });
});
