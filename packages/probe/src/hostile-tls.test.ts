import type net from 'node:net';
import type tls from 'node:tls';
import { describe, expect, test } from '@jest/globals';
import { createCertificate } from '@tocsin/embedded/certificates';
import {
  check,
  type LocalTarget,
  loopbackEgress,
  pouring,
  useLocalTargets,
} from './testing/local-targets.ts';
import type { ProbeResult } from './probe.ts';

const targets = useLocalTargets();
const certificate = await createCertificate(['127.0.0.1', 'localhost']);

function checkTls(target: LocalTarget): Promise<ProbeResult> {
  return check(`https://127.0.0.1:${target.port}/`, loopbackEgress(certificate.ca));
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
    ['reset after the greeting', (socket) => void socket.once('data', () => socket.resetAndDestroy())],
    ['closed after the greeting', (socket) => void socket.once('data', () => socket.end())],
    ['with an alert', (socket) => void socket.resume().end(Buffer.from([21, 3, 3, 0, 2, 2, 40]))],
    ['with random bytes', (socket) => void socket.resume().end(Buffer.alloc(1_000, 0xa7))],
  ])('%s', async (_name, listener) => {
    const target = await targets.tcp(listener);
    expectBroken(await checkTls(target));
    await target.allClosed();
  });

  test('that claims a message of 16 MB', async () => {
    // Repeats a handshake record of 16 KB that claims to be a server hello of maximum length.
    const record = Buffer.alloc(5 + 16_384);
    record.set([22, 3, 3, 0x40, 0x00, 2, 0xff, 0xff, 0xff]);
    const target = await pouring(targets, '', record);
    expectBroken(await checkTls(target));
    await target.allClosed();
  });
});

describe('the words for', () => {
  const ok = (_request: unknown, response: { end(): void }): void => response.end();
  const https = (options: tls.TlsOptions) => targets.https({ ...certificate, ...options }, ok);
  const CLIENT_CERTIFICATE = /^server requires a client certificate \(/;
  /** A hello of TLS 1.2 with a cipher and no extension. */
  const hello = [2, 0, 0, 38, 3, 3, ...Array<number>(32).fill(7), 0, 0xc0, 0x2b, 0];

  test.each<[string, RegExp, () => Promise<LocalTarget>]>([
    ['TLS 1.3 with client certificates', CLIENT_CERTIFICATE, () => https({ requestCert: true })],
    [
      'TLS 1.2 with client certificates',
      CLIENT_CERTIFICATE,
      () => https({ requestCert: true, maxVersion: 'TLSv1.2' }),
    ],
    [
      'no common cipher',
      /^TLS failed: .*alert handshake failure \(/,
      () => https({ maxVersion: 'TLSv1.2', ciphers: 'ECDHE-RSA-AES128-GCM-SHA256' }),
    ],
    [
      'no secure renegotiation',
      /^server does not support secure renegotiation \(/,
      () =>
        targets.tcp(
          (socket) => void socket.once('data', () => socket.write(Buffer.from([22, 3, 3, 0, 42, ...hello]))),
        ),
    ],
    [
      'a plain HTTP port',
      /^server does not speak TLS: this is a plain HTTP port, or/,
      () => targets.http(ok),
    ],
  ])('%s', async (_name, words, open) => {
    expect((await checkTls(await open())).errorDetail).toMatch(words);
  });
});

describe('a certificate', () => {
  test('with a chain of 300 more', async () => {
    const long = {
      key: certificate.key,
      cert: [certificate.cert, ...Array<string>(300).fill(certificate.ca)].join('\n'),
    };
    const target = await targets.https(long, (_request, response) => response.end());
    expectBroken(await checkTls(target));
    await target.allClosed();
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
