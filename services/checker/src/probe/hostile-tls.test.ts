import type net from 'node:net';
import type tls from 'node:tls';
import { afterEach, beforeAll, describe, expect, jest, test } from '@jest/globals';
import { type Certificate, createCertificate } from '@tocsin/embedded/certificates';
import {
  check,
  createLocalTargets,
  holdProbeClock,
  type LocalTarget,
  loopbackEgress,
  NO_TIMEOUT_MS,
} from '../testing/local-targets.ts';
import type { ProbeResult } from './probe.ts';

const targets = createLocalTargets();
let certificate: Certificate;
beforeAll(async () => {
  certificate = await createCertificate(['127.0.0.1', 'localhost']);
});
afterEach(async () => {
  jest.useRealTimers();
  await targets.closeAll();
});

const OK = 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok';

function checkTls(target: LocalTarget, ca: string, timeoutMs = NO_TIMEOUT_MS): Promise<ProbeResult> {
  return check(`https://127.0.0.1:${target.port}/`, loopbackEgress(ca), { timeoutMs });
}

/** A server of raw bytes where TLS is expected. */
function plain(listener: (socket: net.Socket) => void): Promise<LocalTarget> {
  return targets.tcp(listener);
}

function expectBroken(result: ProbeResult): void {
  expect(result).toMatchObject({
    status: 'DOWN',
    latencyMs: 0,
    statusCode: null,
    errorReason: 'UNKNOWN_ERROR',
  });
  expect(result.errorDetail?.length).toBeLessThanOrEqual(500);
  expect(result.errorDetail).not.toMatch(/\p{Cc}/u);
}

describe('a handshake', () => {
  test.each<[string, (socket: net.Socket) => void]>([
    ['reset on connecting', (socket) => void socket.resetAndDestroy()],
    ['reset after the greeting', (socket) => void socket.once('data', () => socket.resetAndDestroy())],
    ['closed after the greeting', (socket) => void socket.once('data', () => socket.end())],
    ['with a response in plain HTTP', (socket) => void socket.once('data', () => socket.end(OK))],
    ['with an alert', (socket) => void socket.resume().end(Buffer.from([21, 3, 3, 0, 2, 2, 40]))],
    ['with random bytes', (socket) => void socket.resume().end(Buffer.alloc(1_000, 0xa7))],
  ])('%s', async (_name, listener) => {
    const target = await plain(listener);
    expectBroken(await checkTls(target, certificate.ca));
    await target.allClosed();
  });

  test('that claims a message of 16 MB', async () => {
    // A handshake record of 16 KB, again and again: the server's hello, said to be as long as can be.
    const record = Buffer.alloc(5 + 16_384);
    record.set([22, 3, 3, 0x40, 0x00, 2, 0xff, 0xff, 0xff]);
    const target = await plain((socket) => {
      const pour = (): void => {
        while (!socket.destroyed && socket.write(record));
      };
      socket.on('drain', pour);
      pour();
    });
    expectBroken(await checkTls(target, certificate.ca));
    await target.allClosed();
  });

  test('with slow single bytes', async () => {
    holdProbeClock();
    const target = await plain((socket) => {
      let count = 0;
      socket.write(Buffer.from([22, 3, 3, 0x40, 0x00]));
      const timer = setInterval(() => {
        socket.write('.');
        count += 1;
        // By then the check has connected: the target runs in the same process.
        if (count === 5) jest.advanceTimersByTime(150);
      }, 15);
      socket.on('close', () => clearInterval(timer));
    });
    const result = await checkTls(target, certificate.ca, 150);
    expect(result).toMatchObject({
      status: 'DOWN',
      statusCode: null,
      errorReason: 'TIMEOUT',
      errorDetail: expect.stringMatching(
        /^TLS handshake not complete within 0\.15 s \(connected after \d+ ms\)$/,
      ),
    });
    await target.allClosed();
  });

  test('with TLS 1.0 only', async () => {
    const old = { minVersion: 'TLSv1', maxVersion: 'TLSv1', ciphers: 'DEFAULT@SECLEVEL=0' } as const;
    const target = await targets.https({ ...certificate, ...old }, (_request, response) => response.end());
    expectBroken(await checkTls(target, certificate.ca));
    await target.allClosed();
  });

  test('that starts over repeatedly', async () => {
    holdProbeClock();
    const server = { ...certificate, maxVersion: 'TLSv1.2' } as const;
    let times = 0;
    const target = await targets.tls(server, (socket) => {
      const again = (): void => {
        times += 1;
        if (times === 10) jest.advanceTimersByTime(1_000);
        if (!socket.destroyed) socket.renegotiate({ rejectUnauthorized: false }, again);
      };
      // A socket that is not read never learns that the other side has gone.
      socket.resume();
      again();
    });
    const result = await checkTls(target, certificate.ca, 1_000);
    expect(times).toBeGreaterThan(0);
    expect(result).toMatchObject({ status: 'DOWN', statusCode: null });
    await target.allClosed();
  });
});

describe('a certificate', () => {
  test('with a chain of 300 more', async () => {
    const long = {
      key: certificate.key,
      cert: [certificate.cert, ...Array<string>(300).fill(certificate.ca)].join('\n'),
    };
    const target = await targets.https(long, (_request, response) => response.end());
    expectBroken(await checkTls(target, certificate.ca));
    await target.allClosed();
  });

  test('with a thousand other names', async () => {
    const names = Array.from({ length: 1_000 }, (_, index) => `name-${index}.example`);
    const other = await createCertificate(names);
    const target = await targets.https(other, (_request, response) => response.end());
    const result = await checkTls(target, other.ca);
    expectBroken(result);
    expect(result.errorDetail).toBe(
      'certificate is not valid for 127.0.0.1 (it is for name-0.example, name-1.example, name-2.example and 997 more)',
    );
    await target.allClosed();
  });

  test('with a NUL or a newline in its name is not valid for the part before it', async () => {
    for (const name of ['localhost\0.evil.example', 'localhost\n.evil.example', 'localhost, DNS:localhost']) {
      const odd = await createCertificate([name]);
      const target = await targets.https(odd, (_request, response) => response.end());
      const result = await check(`https://localhost:${target.port}/`, loopbackEgress(odd.ca));
      expectBroken(result);
      expect(result.errorDetail).toMatch(/^certificate is not valid for localhost \(it is for /);
    }
  });

  test.each([
    [
      'that is not valid yet',
      { startsInDays: 2, validDays: 30 },
      /^certificate is not valid yet, it becomes valid in (47|48) hours|2 days \(CERT_NOT_YET_VALID\)$/,
    ],
    [
      'that ended long ago',
      { startsInDays: -30_000, validDays: -20_000 },
      /^certificate expired (19999|2\d{4}) days ago \(CERT_HAS_EXPIRED\)$/,
    ],
  ])('%s', async (_name, dates, detail) => {
    const odd = await createCertificate(['127.0.0.1'], dates);
    const target = await targets.https(odd, (_request, response) => response.end());
    const result = await checkTls(target, odd.ca);
    expectBroken(result);
    expect(result.errorDetail).toMatch(detail);
  });

  test('that expires in the last representable year', async () => {
    const days = Math.floor((Date.UTC(9_999, 11, 30) - Date.now()) / 86_400_000);
    const odd = await createCertificate(['127.0.0.1'], { validDays: days });
    const target = await targets.https(odd, (_request, response) => response.end());
    const result = await check(target.origin, loopbackEgress(odd.ca), {
      assertions: { certificateMinDays: 3_650 },
    });
    expect(result).toMatchObject({ status: 'UP' });
    expect(result.certificateExpiresAt?.getUTCFullYear()).toBe(9_999);
  });
});

test('a response over TLS that is reset, or never closed properly', async () => {
  const endings: ((socket: tls.TLSSocket) => void)[] = [
    (socket) => socket.write('HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nne', () => socket.destroy()),
    (socket) => socket.write('HTTP/1.1 200 OK\r\n\r\nneedle', () => socket.destroy()),
  ];
  for (const [index, ending] of endings.entries()) {
    const target = await targets.tls(certificate, (socket) => void socket.once('data', () => ending(socket)));
    const result = await check(`https://127.0.0.1:${target.port}/`, loopbackEgress(certificate.ca), {
      assertions: { bodyContains: 'needle' },
    });
    // Without a length the end of the connection is the end of the body.
    expect(result).toMatchObject(
      index === 0 ? { status: 'DOWN', statusCode: 200, errorReason: 'UNKNOWN_ERROR' } : { statusCode: 200 },
    );
    await target.allClosed();
  }
});
