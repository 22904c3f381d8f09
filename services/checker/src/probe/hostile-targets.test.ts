import type net from 'node:net';
import { afterEach, describe, expect, jest, test } from '@jest/globals';
import type { Assertions } from '@tocsin/contracts/monitors/monitor';
import {
  check,
  createLocalTargets,
  holdProbeClock,
  type LocalTarget,
  loopbackEgress,
  responding,
} from '../testing/local-targets.ts';

const targets = createLocalTargets();
const egress = loopbackEgress();
const READS: Assertions = { bodyContains: 'needle' };
afterEach(async () => {
  jest.useRealTimers();
  await targets.closeAll();
});

/** Sends `head`, then `more` for as long as the client takes it. */
function pouring(head: string, more: string | Buffer, counted: { bytes: number }): Promise<LocalTarget> {
  return targets.tcp((socket) => {
    const pour = (): void => {
      while (!socket.destroyed) {
        counted.bytes += more.length;
        if (!socket.write(more)) return;
      }
    };
    socket.once('data', () => {
      socket.write(head);
      pour();
    });
    socket.on('drain', pour);
  });
}

/** Sends `head`, then `drop` again and again; `onDrop` gets the number of times. */
function trickling(head: string, drop: string, onDrop: (count: number) => void): Promise<LocalTarget> {
  return targets.tcp((socket: net.Socket) => {
    socket.once('data', () => {
      let count = 0;
      socket.write(head);
      const timer = setInterval(() => {
        socket.write(drop);
        count += 1;
        onDrop(count);
      }, 15);
      socket.on('close', () => clearInterval(timer));
    });
  });
}

describe('malformed responses', () => {
  test.each([
    ['no HTTP at all', 'SSH-2.0-OpenSSH_9.6\r\n'],
    ['no status line', '\r\n\r\n<html>'],
    ['words for a status', 'HTTP/1.1 OK\r\n\r\n'],
    ['a status of two digits', 'HTTP/1.1 99 Low\r\n\r\n'],
    ['a status of four digits', 'HTTP/1.1 2000 High\r\n\r\n'],
    ['a negative status', 'HTTP/1.1 -20 Odd\r\n\r\n'],
    ['an unknown version', 'HTTP/7.3 200 OK\r\n\r\n'],
    ['HTTP/2', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'],
    ['a header without a colon', 'HTTP/1.1 200 OK\r\nbroken header\r\n\r\n'],
    ['two lengths', 'HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n'],
    ['a head that breaks off', 'HTTP/1.1 200 OK\r\nContent-Ty'],
    ['binary noise', Buffer.from([0, 255, 1, 254, 13, 10, 13, 10])],
    ['nothing', ''],
  ])('%s', async (_name, bytes) => {
    const target = await responding(targets, bytes);
    const result = await check(target.origin, egress);
    expect(result).toMatchObject({
      status: 'DOWN',
      latencyMs: 0,
      statusCode: null,
      errorReason: 'UNKNOWN_ERROR',
    });
    expect(result.errorDetail).toMatch(
      /^(malformed response: .+|connection closed before a response arrived)$/,
    );
    await target.allClosed();
  });

  test.each([
    [0, 'UNKNOWN_ERROR'],
    [99, 'UNKNOWN_ERROR'],
    [600, 'HTTP_600'],
    [999, 'HTTP_999'],
  ])('status %d is %s', async (statusCode, errorReason) => {
    const target = await responding(targets, `HTTP/1.1 ${String(statusCode).padStart(3, '0')} Odd\r\n\r\n`);
    expect(await check(target.origin, egress)).toMatchObject({ status: 'DOWN', statusCode, errorReason });
  });

  test('an unexpected switch of protocols is HTTP_101', async () => {
    const target = await responding(
      targets,
      'HTTP/1.1 101 Switching\r\nConnection: Upgrade\r\nUpgrade: ws\r\n\r\n',
    );
    expect(await check(target.origin, egress)).toMatchObject({ statusCode: 101, errorReason: 'HTTP_101' });
    const assertions = { statusCode: 101, bodyNotContains: 'x' };
    expect(await check(target.origin, egress, { assertions })).toMatchObject({ status: 'UP' });
    await target.allClosed();
  });

  test('a reset', async () => {
    const target = await targets.tcp((socket) => socket.once('data', () => socket.resetAndDestroy()));
    const result = await check(target.origin, egress);
    expect(result).toMatchObject({ latencyMs: 0, errorReason: 'UNKNOWN_ERROR' });
    expect(result.errorDetail).toBe('connection reset');
  });

  test('a hostile reason in an error cannot reach a terminal', async () => {
    const target = await targets.http((_request, response) => {
      response.writeHead(302, { location: 'x:\u00c2\u009b31m\u00e2\u0080\u00ae' }).end();
    });
    const { errorDetail } = await check(target.origin, egress);
    expect(errorDetail).toContain('leaves http and https');
    expect(errorDetail).not.toMatch(/\p{Cc}|\u202e/u);
  });
});

describe('a body that is needed', () => {
  test.each([
    ['falls short of its length', 'HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nneedle'],
    ['lacks its last chunk', 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n6\r\nneedle\r\n'],
  ])('but %s', async (_name, bytes) => {
    const target = await responding(targets, bytes);
    const result = await check(target.origin, egress, { assertions: READS });
    expect(result).toMatchObject({
      status: 'DOWN',
      statusCode: 200,
      errorReason: 'UNKNOWN_ERROR',
      errorDetail: 'connection closed before the response was complete, 6 bytes into the body',
    });
    expect(result.latencyMs).toBeGreaterThanOrEqual(1);
    expect(await check(target.origin, egress)).toMatchObject({ status: 'DOWN', statusCode: 200 });
  });

  test('may end with the connection', async () => {
    const target = await responding(targets, 'HTTP/1.0 200 OK\r\n\r\nthe needle');
    expect(await check(target.origin, egress, { assertions: READS })).toMatchObject({ status: 'UP' });
  });

  test('is complete with its last byte while the server keeps the connection open', async () => {
    const target = await targets.tcp((socket) => {
      socket.once('data', () => socket.write('HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nneedle'));
    });
    expect(await check(target.origin, egress, { assertions: READS })).toMatchObject({ status: 'UP' });
    await target.allClosed();
  });

  test('of 10 GB is read up to 1 MiB', async () => {
    const counted = { bytes: 0 };
    const head = 'HTTP/1.1 200 OK\r\nContent-Length: 10000000000\r\n\r\n';
    const target = await pouring(head, 'x'.repeat(65_536), counted);
    expect(await check(target.origin, egress, { assertions: READS })).toMatchObject({
      status: 'DOWN',
      errorDetail: 'body does not contain “needle”',
    });
    await target.allClosed();
    // What the kernel buffers on both sides comes on top of what was read.
    expect(counted.bytes).toBeLessThan(16 * 1024 * 1024);
  });

  test('is evaluated by its first MiB', async () => {
    const filler = 'x'.repeat(1024 * 1024 - 6);
    const within = await targets.http((_request, response) => response.end(`${filler}needle${filler}`));
    expect(await check(within.origin, egress, { assertions: READS })).toMatchObject({ status: 'UP' });
    const beyond = await targets.http((_request, response) => response.end(`${filler}.needle`));
    expect(await check(beyond.origin, egress, { assertions: READS })).toMatchObject({ status: 'DOWN' });
  });

  test('without end and without length is read up to 1 MiB', async () => {
    const target = await pouring('HTTP/1.1 200 OK\r\n\r\n', 'y'.repeat(65_536), { bytes: 0 });
    const result = await check(target.origin, egress, { assertions: { bodyNotContains: 'x' } });
    expect(result.status).toBe('UP');
    await target.allClosed();
  });
});

describe('the deadline ends', () => {
  test.each([
    ['a body of a byte now and then', 'HTTP/1.1 200 OK\r\n\r\n', '.', 200],
    ['headers of a byte now and then', 'HTTP/1.1 200 OK\r\nX-Slow: ', '.', null],
    [
      'chunks of a byte now and then',
      'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n',
      '1\r\n.\r\n',
      200,
    ],
    [
      'thousands of chunks of a byte each, without end',
      'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n',
      '1\r\n.\r\n'.repeat(5_000),
      200,
    ],
  ])('%s', async (_name, head, drop, statusCode) => {
    holdProbeClock();
    const target = await trickling(head, drop, (count) => {
      // By then the check has read some of them: the target runs in the same process.
      if (count >= 5) jest.advanceTimersByTime(30);
    });
    const result = await check(target.origin, egress, { assertions: READS, timeoutMs: 150 });
    expect(result).toMatchObject({ status: 'DOWN', latencyMs: 150, errorReason: 'TIMEOUT', statusCode });
    await target.allClosed();
  });
});

describe('endless heads are bounded', () => {
  test.each([
    ['one header', 'HTTP/1.1 200 OK\r\nX-Long: ', 'z'.repeat(16_384)],
    ['many headers', 'HTTP/1.1 200 OK\r\n', 'X-Many: zzzzzzzzzzzzzzzz\r\n'.repeat(500)],
    ['a reason phrase', 'HTTP/1.1 200 ', 'z'.repeat(16_384)],
  ])('%s', async (_name, head, more) => {
    const counted = { bytes: 0 };
    const target = await pouring(head, more, counted);
    const result = await check(target.origin, egress);
    expect(result).toMatchObject({ statusCode: null, latencyMs: 0, errorReason: 'UNKNOWN_ERROR' });
    expect(result.errorDetail).toContain('HPE_HEADER_OVERFLOW');
    await target.allClosed();
  });

  test('a repeated length', async () => {
    const length = 'Content-Length: 2\r\n';
    const target = await pouring(`HTTP/1.1 200 OK\r\n${length}`, length.repeat(500), { bytes: 0 });
    const result = await check(target.origin, egress);
    expect(result).toMatchObject({ statusCode: null, latencyMs: 0, errorReason: 'UNKNOWN_ERROR' });
    expect(result.errorDetail).toMatch(/^malformed response: /);
    await target.allClosed();
  });

  test('interim responses', async () => {
    const target = await pouring('', 'HTTP/1.1 102 Processing\r\n\r\n'.repeat(50), { bytes: 0 });
    const result = await check(target.origin, egress);
    expect(result).toMatchObject({ statusCode: null, latencyMs: 0, errorReason: 'UNKNOWN_ERROR' });
    expect(result.errorDetail).toBe('more than 20 interim (1xx) responses before the real one');
    await target.allClosed();
  });

  test('a few interim responses are accepted', async () => {
    const target = await responding(
      targets,
      'HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\nHTTP/1.1 204 Done\r\n\r\n',
    );
    expect(await check(target.origin, egress)).toMatchObject({ status: 'UP', statusCode: 204 });
  });

  test('a head of 40 KB is accepted', async () => {
    const target = await responding(targets, `HTTP/1.1 200 OK\r\nX-Policy: ${'p'.repeat(40_000)}\r\n\r\n`);
    expect(await check(target.origin, egress)).toMatchObject({ status: 'UP' });
  });
});
