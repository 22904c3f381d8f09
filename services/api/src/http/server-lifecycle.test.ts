import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { connect } from 'node:net';
import { describe, expect, test } from '@jest/globals';
import { until } from '@tocsin/embedded/testing/until';
import { stopClock } from '../testing/stopped-clock.ts';
import { startHttpServer } from './http-server.ts';

/** A server that responds when `finish` is called. */
async function startPending() {
  let pending: ServerResponse | undefined;
  const server = await startHttpServer((_req, res) => void (pending = res), { port: 0 });
  return {
    server,
    untilInProgress: () => until('the request is in progress', () => pending),
    finish: () => void pending?.end('done'),
  };
}

describe('the server', () => {
  async function exchange(port: number, text: string): Promise<string> {
    const socket = connect(port, '127.0.0.1');
    let received = '';
    socket.setEncoding('utf8').on('data', (chunk: string) => (received += chunk));
    socket.write(text);
    await once(socket, 'close');
    return received;
  }

  test('responds to bytes that are not HTTP with a problem and a request id', async () => {
    const server = await startHttpServer(() => undefined, { port: 0 });
    const received = await exchange(server.port, 'NONSENSE\r\n\r\n');
    expect(received).toMatch(/^HTTP\/1\.1 400 Bad Request\r\n/);
    expect(received).toMatch(/X-Request-Id: [0-9a-f-]{36}\r\n/);
    expect(received).toContain('application/problem+json');
    const long = await exchange(
      server.port,
      `GET / HTTP/1.1\r\nHost: a\r\nX-A: ${'a'.repeat(20_000)}\r\n\r\n`,
    );
    expect(long).toMatch(/^HTTP\/1\.1 431 /);
    await server.stop();
  });

  test('reports in one line that its port is in use', async () => {
    const server = await startHttpServer(() => undefined, { port: 0 });
    await expect(startHttpServer(() => undefined, { port: server.port })).rejects.toMatchObject({
      name: 'SettingsError',
      message: expect.stringMatching(/^PORT must be a free port, but \d+ is in use/),
    });
    await server.stop();
  });

  // Only Linux has a second loopback address.
  (process.platform === 'linux' ? test : test.skip)('listens on the address of HOST alone', async () => {
    const server = await startHttpServer(() => undefined, { port: 0, host: '127.0.0.1' });
    const socket = connect(server.port, '127.0.0.2');
    const [error] = (await once(socket, 'error')) as [NodeJS.ErrnoException];
    expect(error.code).toBe('ECONNREFUSED');
    await server.stop();
  });

  test('reports in one line that its address does not belong to this machine', async () => {
    await expect(startHttpServer(() => undefined, { port: 0, host: '192.0.2.1' })).rejects.toMatchObject({
      name: 'SettingsError',
      message: 'HOST must be an IP address of this machine, and 192.0.2.1 is not',
    });
  });

  test('finishes requests in progress before it stops, and closes idle connections', async () => {
    const { server, untilInProgress, finish } = await startPending();
    const received = exchange(server.port, 'GET / HTTP/1.1\r\nHost: a\r\n\r\n');
    await untilInProgress();
    const stopped = server.stop();
    finish();
    expect(await received).toMatch(/done/);
    await stopped;
  });

  test('closes a connection that never sent a request before those with a request in progress', async () => {
    const { server, untilInProgress, finish } = await startPending();
    const unused = connect(server.port, '127.0.0.1');
    await once(unused, 'connect');
    // Accepted after the other connection.
    const received = exchange(server.port, 'GET / HTTP/1.1\r\nHost: a\r\n\r\n');
    await untilInProgress();
    const closed = once(unused, 'close');
    const clock = stopClock();
    try {
      const stopped = server.stop();
      clock.advance(1_001);
      await closed;
      finish();
      expect(await received).toMatch(/done$/);
      await stopped;
    } finally {
      clock.restore();
    }
  });

  test('responds on a kept connection while it stops, and announces that it closes', async () => {
    const held: ServerResponse[] = [];
    const server = await startHttpServer(
      (req, res) => {
        if (req.url === '/held') held.push(res);
        else res.end('done');
      },
      { port: 0 },
    );
    const connections = [connect(server.port, '127.0.0.1'), connect(server.port, '127.0.0.1')] as const;
    const received = connections.map((socket) => {
      const received = { text: '', closed: once(socket, 'close') };
      socket.setEncoding('utf8').on('data', (chunk: string) => (received.text += chunk));
      return received;
    });
    const [idle, busy] = connections;
    idle.write('GET / HTTP/1.1\r\nHost: a\r\n\r\n');
    busy.write('GET /held HTTP/1.1\r\nHost: a\r\n\r\n');
    await until(
      'one request has its response, the other is in progress',
      () => received[0]?.text.endsWith('done') && held.length > 0,
    );
    expect(received[0]?.text).toContain('Connection: keep-alive');
    // With the clock stopped, the second that the idle connection has for another request does not pass.
    const clock = stopClock();
    const stopped = server.stop();
    idle.write('GET / HTTP/1.1\r\nHost: a\r\n\r\n');
    held[0]?.end('held');
    await Promise.all(received.map(({ closed }) => closed)).finally(() => clock.restore());
    const [again, first] = [received[0]?.text.split('done')[1], received[1]?.text];
    for (const text of [again, first])
      expect(text).toMatch(/^HTTP\/1\.1 200 OK\r\n[^]*Connection: close\r\n/);
    expect(first).toMatch(/held$/);
    await stopped;
  });
});
