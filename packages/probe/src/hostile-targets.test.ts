import { describe, expect, jest, test } from '@jest/globals';
import type { Assertions } from '@tocsin/contracts/monitors/assertions';
import {
  check,
  holdProbeClock,
  type LocalTarget,
  loopbackEgress,
  pouring,
  responding,
  useLocalTargets,
} from './testing/local-targets.ts';
import type { ProbeResult } from './probe.ts';

const OK = 'HTTP/1.1 200 OK\r\n';
const CHUNKED = `${OK}Transfer-Encoding: chunked\r\n\r\n`;
const READS: Assertions = { bodyContains: 'needle' };
const REFUSED = { status: 'DOWN', latencyMs: 0, statusCode: null, errorReason: 'UNKNOWN_ERROR' } as const;
const targets = useLocalTargets();
const egress = loopbackEgress();

/** Runs a check, and ensures that its connection is closed and its detail can be stored, logged and shown. */
async function checked(target: LocalTarget, assertions: Assertions | null = READS): Promise<ProbeResult> {
  const result = await check(target.origin, egress, { assertions });
  expect(result.errorDetail?.length ?? 0).toBeLessThanOrEqual(500);
  expect(result.errorDetail ?? '').not.toMatch(/\p{Cc}/u);
  await target.allClosed();
  return result;
}

/** Sends `head`, then `drop` repeatedly. `onDrop` gets the number of drops. */
function trickling(head: string, drop: string, onDrop: (count: number) => void): Promise<LocalTarget> {
  return targets.tcp((socket) => {
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

test.each([
  ['no HTTP', 'SSH-2.0-OpenSSH_9.6\r\n'],
  ['a plus in the status', 'HTTP/1.1 +200 OK\r\n\r\n'],
  ['a bare CR in a header', `${OK}X: a\rb\r\n\r\n`],
  ['a length below zero', `${OK}Content-Length: -5\r\n\r\nneedle`],
  ['a length beyond 64 bits', `${OK}Content-Length: 99999999999999999999\r\n\r\nneedle`],
  ['binary noise', Buffer.from([0, 255, 1, 254, 13, 10, 13, 10])],
])('a malformed head with %s', async (_name, bytes) => {
  const result = await checked(await responding(targets, bytes));
  expect(result).toMatchObject(REFUSED);
  expect(result.errorDetail).toMatch(/^malformed response: ./);
});

describe('an odd head', () => {
  test.each([
    [0, 'UNKNOWN_ERROR'],
    [99, 'UNKNOWN_ERROR'],
    [999, 'HTTP_999'],
  ])('with status %d is %s', async (statusCode, errorReason) => {
    const target = await responding(targets, `HTTP/1.1 ${String(statusCode).padStart(3, '0')} Odd\r\n\r\n`);
    expect(await checked(target, null)).toMatchObject({ status: 'DOWN', statusCode, errorReason });
  });

  test('that switches protocols is a response without a body, even if endless bytes follow', async () => {
    const head = 'HTTP/1.1 101 Switching\r\nConnection: Upgrade\r\nUpgrade: ws\r\n\r\n';
    const switched = await pouring(targets, head, 'x'.repeat(10_000));
    const assertions = { statusCode: 101, bodyNotContains: 'x' };
    expect(await checked(switched, assertions)).toMatchObject({ status: 'UP' });
  });

  test('of 40 KB is accepted', async () => {
    const target = await responding(targets, `${OK}X-Policy: ${'p'.repeat(40_000)}\r\n\r\n`);
    expect(await checked(target, null)).toMatchObject({ status: 'UP' });
  });

  test('cannot bring control characters into an error', async () => {
    const target = await targets.http((_request, response) => {
      response.writeHead(302, { location: 'x:\u00c2\u009b31m\u00e2\u0080\u00ae' }).end();
    });
    const { errorDetail } = await checked(target);
    expect(errorDetail).toContain('leaves http and https');
    expect(errorDetail).not.toMatch(/\u202e/u);
  });
});

describe('endless heads are bounded', () => {
  test.each([
    ['one header', `${OK}X-Long: `, 'z'.repeat(16_384), /HPE_HEADER_OVERFLOW/],
    [
      'a repeated length',
      `${OK}Content-Length: 2\r\n`,
      'Content-Length: 2\r\n'.repeat(500),
      /^malformed response: /,
    ],
  ])('%s', async (_name, head, more, detail) => {
    const result = await checked(await pouring(targets, head, more), null);
    expect(result).toMatchObject({ ...REFUSED, errorDetail: expect.stringMatching(detail) });
  });
});

describe('a body', () => {
  test('is complete with its last byte while the server keeps the connection open', async () => {
    const target = await targets.tcp((socket) => {
      socket.once('data', () => socket.write(`${OK}Content-Length: 6\r\n\r\nneedle`));
    });
    expect(await checked(target)).toMatchObject({ status: 'UP' });
  });

  test('of 10 GB is read up to 1 MiB', async () => {
    let sent = 0;
    const head = `${OK}Content-Length: 10000000000\r\n\r\n`;
    const target = await pouring(targets, head, 'x'.repeat(65_536), (bytes) => (sent += bytes));
    expect(await checked(target)).toMatchObject({
      status: 'DOWN',
      errorDetail: 'body does not contain “needle”',
    });
    // The kernel buffers further bytes on both sides.
    expect(sent).toBeLessThan(16 * 1024 * 1024);
  });

  test('is evaluated by its first MiB', async () => {
    const filler = 'x'.repeat(1024 * 1024 - 6);
    const within = await targets.http((_request, response) => response.end(`${filler}needle${filler}`));
    expect(await checked(within)).toMatchObject({ status: 'UP' });
    const beyond = await targets.http((_request, response) => response.end(`${filler}.needle`));
    expect(await checked(beyond)).toMatchObject({ status: 'DOWN' });
  });

  test.each([
    ['extensions', `${CHUNKED}6;`, 'x=y;'.repeat(4_096)],
    ['trailers', `${CHUNKED}6\r\nneedle\r\n0\r\n`, 'X-Many: zzzzzzzzzzzz\r\n'.repeat(500)],
  ])('with endless %s is DOWN', async (_name, head, more) => {
    const result = await checked(await pouring(targets, head, more));
    expect(result).toMatchObject({ status: 'DOWN', statusCode: 200, errorReason: 'UNKNOWN_ERROR' });
  });

  test.each([
    ['204', 'HTTP/1.1 204 None\r\n\r\n'],
    ['304', 'HTTP/1.1 304 Same\r\nContent-Length: 6\r\n\r\n'],
    ['a complete response', `${OK}Content-Length: 2\r\n\r\nok`],
  ])('after %s is ignored, however long', async (_name, head) => {
    const target = await pouring(targets, head, 'needle'.repeat(10_000));
    for (const assertions of [null, { bodyNotContains: 'needle' }])
      expect(await checked(target, assertions)).toMatchObject({ status: 'UP' });
  });
});

test('a response before the request is a response', async () => {
  const target = await targets.tcp((socket) => void socket.resume().write('HTTP/1.1 204 Early\r\n\r\n'));
  const changes = { method: 'POST', body: 'x'.repeat(60_000) } as const;
  expect(await check(target.origin, egress, changes)).toMatchObject({ status: 'UP', statusCode: 204 });
  await target.allClosed();
});

test('a reset after an interim response is a failure', async () => {
  const target = await targets.tcp((socket) => {
    socket.write('HTTP/1.1 100 OK\r\n\r\n', () => socket.resetAndDestroy());
  });
  expect(await checked(target)).toMatchObject(REFUSED);
});

describe('the deadline ends', () => {
  test.each([
    ['a body of a byte now and then', `${OK}\r\n`, '.', 200],
    ['headers of a byte now and then', `${OK}X-Slow: `, '.', null],
    ['thousands of chunks of a byte each, without end', CHUNKED, '1\r\n.\r\n'.repeat(5_000), 200],
  ])('%s', async (_name, head, drop, statusCode) => {
    holdProbeClock();
    const target = await trickling(head, drop, (count) => {
      // By then the check has read some of them, because the target runs in the same process.
      if (count >= 5) jest.advanceTimersByTime(30);
    });
    const result = await check(target.origin, egress, { assertions: READS, timeoutMs: 150 });
    expect(result).toMatchObject({ status: 'DOWN', latencyMs: 150, errorReason: 'TIMEOUT', statusCode });
    await target.allClosed();
  });
});
