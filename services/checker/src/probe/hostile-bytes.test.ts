import type net from 'node:net';
import { afterEach, describe, expect, test } from '@jest/globals';
import type { Assertions } from '@tocsin/contracts/monitors/monitor';
import {
  check,
  createLocalTargets,
  type LocalTarget,
  loopbackEgress,
  responding,
} from '../testing/local-targets.ts';
import { decodeBody } from './body.ts';
import type { ProbeResult } from './probe.ts';

const targets = createLocalTargets();
const egress = loopbackEgress();
const READS: Assertions = { bodyContains: 'needle' };
const NO_BODY = { bodyNotContains: 'needle' };
afterEach(() => targets.closeAll());

/** Expects a detail that can be stored, logged and shown. */
function expectFit(result: ProbeResult): void {
  expect(result.errorDetail?.length ?? 0).toBeLessThanOrEqual(500);
  expect(result.errorDetail ?? '').not.toMatch(/\p{Cc}/u);
}

/** Sends `head`, then `more` for as long as the client takes it. */
function pouring(head: string, more: string): Promise<LocalTarget> {
  return targets.tcp((socket) => {
    const pour = (): void => {
      while (!socket.destroyed && socket.write(more));
    };
    socket.once('data', () => {
      socket.write(head);
      pour();
    });
    socket.on('drain', pour);
  });
}

describe('a head that is not HTTP', () => {
  test.each([
    ['a NUL in a header', 'HTTP/1.1 200 OK\r\nX: a\0b\r\n\r\n'],
    ['a bare CR in a header', 'HTTP/1.1 200 OK\r\nX: a\rb\r\n\r\n'],
    ['a blank in a header name', 'HTTP/1.1 200 OK\r\nX Y: z\r\n\r\n'],
    ['a plus in the status', 'HTTP/1.1 +200 OK\r\n\r\n'],
    ['a blank in the status', 'HTTP/1.1 2 00 OK\r\n\r\n'],
    ['a broken status', 'HTTP/1.1 20.5 OK\r\n\r\n'],
    ['HTTP/0.9', '<html>a needle</html>'],
    ['a length below zero', 'HTTP/1.1 200 OK\r\nContent-Length: -5\r\n\r\nneedle'],
    ['a length with a sign', 'HTTP/1.1 200 OK\r\nContent-Length: +6\r\n\r\nneedle'],
    ['a hexadecimal length', 'HTTP/1.1 200 OK\r\nContent-Length: 0x6\r\n\r\nneedle'],
    ['a list of lengths', 'HTTP/1.1 200 OK\r\nContent-Length: 6, 6\r\n\r\nneedle'],
    ['a length beyond 64 bits', 'HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999\r\n\r\nneedle'],
  ])('%s', async (_name, bytes) => {
    const target = await responding(targets, bytes);
    const result = await check(target.origin, egress, { assertions: READS });
    expect(result).toMatchObject({
      status: 'DOWN',
      latencyMs: 0,
      statusCode: null,
      errorReason: 'UNKNOWN_ERROR',
    });
    expect(result.errorDetail).toMatch(/^malformed response: ./);
    await target.allClosed();
  });

  test('a folded header, as old servers send it, is one', async () => {
    const target = await responding(targets, 'HTTP/1.1 302 Found\r\nLocation: ftp:\r\n //x\r\n\r\n');
    const result = await check(target.origin, egress);
    expect(result.errorDetail).toBe('redirect to “ftp: //x” is not a valid URL');
    await target.allClosed();
  });
});

describe('a body with invalid chunks', () => {
  const HEAD = 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n';
  test.each([
    ['no number', `${HEAD}xyz\r\nneedle\r\n0\r\n\r\n`],
    ['a size below zero', `${HEAD}-6\r\nneedle\r\n0\r\n\r\n`],
    ['a size beyond 64 bits', `${HEAD}FFFFFFFFFFFFFFFFF\r\nneedle`],
    ['more data than its size', `${HEAD}3\r\nneedle\r\n0\r\n\r\n`],
    ['an extension of 1 MB', `${HEAD}6;${'x'.repeat(1_000_000)}\r\nneedle\r\n0\r\n\r\n`],
  ])('%s', async (_name, bytes) => {
    const target = await responding(targets, bytes);
    const result = await check(target.origin, egress, { assertions: READS });
    expect(result).toMatchObject({ status: 'DOWN', statusCode: 200, errorReason: 'UNKNOWN_ERROR' });
    expectFit(result);
    await target.allClosed();
  });

  test.each([
    ['extensions', `${HEAD}6;`, 'x=y;'.repeat(4_096)],
    ['trailers', `${HEAD}6\r\nneedle\r\n0\r\n`, 'X-Many: zzzzzzzzzzzz\r\n'.repeat(500)],
    ['one trailer', `${HEAD}6\r\nneedle\r\n0\r\nX-Long: `, 'z'.repeat(16_384)],
  ])('endless %s', async (_name, head, more) => {
    const target = await pouring(head, more);
    const result = await check(target.origin, egress, { assertions: READS });
    expect(result).toMatchObject({ status: 'DOWN', statusCode: 200, errorReason: 'UNKNOWN_ERROR' });
    expectFit(result);
    await target.allClosed();
  });
});

describe('at an unexpected moment', () => {
  test('a response before the request, and one followed by a reset', async () => {
    const early = await targets.tcp((socket) => {
      socket.resume().write('HTTP/1.1 204 Early\r\n\r\n');
    });
    expect(await check(early.origin, egress, { method: 'POST', body: 'x'.repeat(60_000) })).toMatchObject({
      status: 'UP',
      statusCode: 204,
    });
    await early.allClosed();
    const reset = await targets.tcp((socket) => {
      socket.write('HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nneed', () => socket.resetAndDestroy());
    });
    const result = await check(reset.origin, egress, { assertions: READS });
    expect(result).toMatchObject({ status: 'DOWN', errorReason: 'UNKNOWN_ERROR' });
    expectFit(result);
    await reset.allClosed();
  });

  const reset = (socket: net.Socket): void => void socket.resetAndDestroy();
  test.each<[string, (socket: net.Socket) => void]>([
    ['on connecting', reset],
    ['with the request', (socket) => void socket.once('data', () => reset(socket))],
    ['within the head', (socket) => void socket.write('HTTP/1.1 200', () => reset(socket))],
    [
      'after an interim response',
      (socket) => void socket.write('HTTP/1.1 100 OK\r\n\r\n', () => reset(socket)),
    ],
  ])('a reset %s', async (_name, listener) => {
    const target = await targets.tcp(listener);
    const result = await check(target.origin, egress);
    expect(result).toMatchObject({ status: 'DOWN', statusCode: null, errorReason: 'UNKNOWN_ERROR' });
    expectFit(result);
    await target.allClosed();
  });

  test.each([
    ['204', 'HTTP/1.1 204 None\r\n\r\n'],
    ['304', 'HTTP/1.1 304 Same\r\nContent-Length: 6\r\n\r\n'],
    ['a complete response', 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok'],
  ])('bytes without end after %s', async (_name, head) => {
    const target = await pouring(head, 'needle'.repeat(10_000));
    for (const assertions of [null, NO_BODY]) {
      expect(await check(target.origin, egress, { assertions })).toMatchObject({ status: 'UP' });
    }
    await target.allClosed();
  });

  test('endless bytes after a switch of protocols, and empty lines before the response', async () => {
    const switched = await pouring(
      'HTTP/1.1 101 Switching\r\nConnection: Upgrade\r\nUpgrade: ws\r\n\r\n',
      'x'.repeat(10_000),
    );
    const after = await check(switched.origin, egress);
    expect(after).toMatchObject({ errorReason: 'HTTP_101' });
    await switched.allClosed();
    const blank = await pouring('', '\r\n'.repeat(8_192));
    const result = await check(blank.origin, egress, { timeoutMs: 100 });
    expect(result).toMatchObject({ status: 'DOWN', statusCode: null });
    expect(['TIMEOUT', 'UNKNOWN_ERROR']).toContain(result.errorReason);
    await blank.allClosed();
  });
});

describe('a Location', () => {
  test.each([
    ['of 60 KB', `x:${'é'.repeat(30_000)}`],
    ['with a tab and a newline of its own', 'java\tscript:alert(1)'],
    ['with backslashes to nowhere', '\\\\[bad'],
    ['with an invalid port', 'http://127.0.0.1:99999/'],
    ['with an invalid host', 'http://a b/'],
    ['with half a percent-encoding in its host', 'http://%/'],
  ])('%s cannot be followed', async (_name, location) => {
    const bytes = Buffer.from(`HTTP/1.1 302 Found\r\nLocation: ${location}\r\n\r\n`);
    const target = await responding(targets, bytes);
    const result = await check(target.origin, egress);
    expect(result).toMatchObject({ status: 'DOWN', statusCode: 302, errorReason: 'UNKNOWN_ERROR' });
    expect(result.errorDetail).toMatch(/^redirect to .+ (is not a valid URL|leaves http and https)$/);
    expectFit(result);
    expect(target.connections()).toBe(1);
  });
});

describe('invalid text', () => {
  test.each([
    ['text/html; charset=utf-16le', Buffer.from([0x00, 0xd8, 0x00])],
    ['text/html; charset=utf-16be', Buffer.from([0xd8, 0x00, 0xdc])],
    ['text/html; charset=utf-8', Buffer.from([0xff, 0xfe, 0xc0, 0x80, 0xed, 0xa0, 0x80, 0xf4, 0x90])],
    ['text/html; charset=iso-2022-jp', Buffer.from('\x1b$B\xff\x1b', 'latin1')],
    ['text/html; charset=replacement', Buffer.from('x')],
    ['text/html; charset=utf-7', Buffer.from('+AGE-')],
    ['text/html; charset=\0', Buffer.from('x')],
    [`text/html; charset=${'x'.repeat(60_000)}`, Buffer.from('x')],
    ['; charset'.repeat(7_000), Buffer.from('x')],
  ])('%#: is decoded to text', async (contentType, bytes) => {
    expect(await decodeBody(bytes, true, { 'content-type': contentType })).toEqual({
      text: expect.any(String),
    });
  });
});
