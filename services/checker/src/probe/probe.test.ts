import { getEventListeners } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { afterEach, beforeAll, describe, expect, jest, test } from '@jest/globals';
import type { HttpMethod } from '@tocsin/contracts/vocabulary';
import { createEgress } from '@tocsin/egress/create-egress';
import { type Certificate, createCertificate } from '@tocsin/embedded/certificates';
import {
  check,
  createLocalTargets,
  holdProbeClock,
  loopbackEgress,
  withBody,
} from '../testing/local-targets.ts';
import { ProbeAbortedError, Prober } from './probe.ts';

const targets = createLocalTargets();
const egress = loopbackEgress();
let certificate: Certificate;

beforeAll(async () => {
  certificate = await createCertificate(['localhost', '127.0.0.1']);
});
afterEach(async () => {
  jest.useRealTimers();
  await targets.closeAll();
});

describe('a healthy target', () => {
  test('is UP with its status, a latency and the timings of its phases', async () => {
    const target = await targets.http((_request, response) => response.end('ok'));
    const result = await check(`${target.origin}/health?deep=1`, egress);
    expect(result).toEqual({
      response: null,
      status: 'UP',
      latencyMs: expect.any(Number),
      statusCode: 200,
      errorReason: null,
      errorDetail: null,
      timings: {
        dns: null,
        tcp: expect.any(Number),
        tls: null,
        firstByte: expect.any(Number),
        download: expect.any(Number),
      },
      certificateExpiresAt: null,
      transportFailure: null,
    });
    expect(Number.isInteger(result.latencyMs)).toBe(true);
    expect(result.latencyMs).toBeGreaterThanOrEqual(1);
    await target.allClosed();
  });

  test('by name has a DNS timing too', async () => {
    const target = await targets.http((_request, response) => response.end('ok'));
    const { status, timings } = await check(`http://localhost:${target.port}/`, egress, {
      assertions: { bodyContains: 'ok' },
    });
    expect(status).toBe('UP');
    expect(timings).toEqual({
      dns: expect.any(Number),
      tcp: expect.any(Number),
      tls: null,
      firstByte: expect.any(Number),
      download: expect.any(Number),
    });
  });

  test('over IPv6', async () => {
    const target = await targets.http((_request, response) => response.end('ok'), '::1');
    expect(await check(target.origin, egress)).toMatchObject({ status: 'UP', statusCode: 200 });
  });

  test('gets a new connection for each check', async () => {
    const target = await targets.http((_request, response) => response.end('ok'));
    for (let count = 1; count <= 3; count += 1) {
      await check(target.origin, egress);
      expect(target.connections()).toBe(count);
    }
  });

  test.each([
    ['an assertion looks at it', { bodyContains: 'last' }],
    ['none does', null],
  ])('latency covers the body if %s', async (_name, assertions) => {
    holdProbeClock();
    const target = await targets.http((_request, response) => {
      response.write('first, ');
      jest.advanceTimersByTime(1_000);
      response.end('last');
    });
    const { status, latencyMs, timings } = await check(target.origin, egress, { assertions });
    expect({ status, latencyMs }).toEqual({ status: 'UP', latencyMs: 1_000 });
    expect((timings.firstByte ?? 0) + (timings.download ?? 0)).toBe(1_000);
    await target.allClosed();
  });

  test('a body that cannot change the result is not read', async () => {
    const target = await targets.http((request, response) => {
      const statusCode = request.url === '/failing' ? 500 : 200;
      response.writeHead(statusCode, { 'content-type': 'text/event-stream' }).write('data: 1\n\n');
    });
    const failing = await check(`${target.origin}/failing`, egress, { assertions: { bodyContains: '2' } });
    expect(failing).toMatchObject({ errorReason: 'HTTP_500', timings: { download: null } });
    const stream = await check(`${target.origin}/stream`, egress);
    expect(stream).toMatchObject({ status: 'UP', timings: { download: null } });
    await target.allClosed();
  });
});

describe('the request', () => {
  test('has default headers, which custom headers replace in any case', async () => {
    const seen: IncomingMessage[] = [];
    const target = await targets.http((request, response) => {
      seen.push(request);
      response.end();
    });
    await check(target.origin, egress);
    await check(target.origin, egress, {
      headers: { HOST: 'shop.test', 'user-AGENT': 'mine', Accept: 'text/html', 'X-Token': 'caf\u00e9' },
    });
    expect(seen[0]?.headers).toEqual({
      host: `127.0.0.1:${target.port}`,
      'user-agent': 'Tocsin/0.1 (+uptime check)',
      accept: '*/*',
      'accept-encoding': 'identity',
      connection: 'close',
    });
    expect(seen[1]?.headers).toMatchObject({
      host: 'shop.test',
      'user-agent': 'mine',
      accept: 'text/html',
      'x-token': 'caf\u00e9',
    });
    expect(seen[1]?.rawHeaders.filter((name) => name.toLowerCase() === 'user-agent')).toHaveLength(1);
  });

  test.each<[HttpMethod, string | null, string, string | undefined]>([
    ['GET', 'dropped', '', undefined],
    ['HEAD', 'dropped', '', undefined],
    ['POST', 'pörridge', 'pörridge', '9'],
    ['PUT', '{}', '{}', '2'],
    ['PATCH', 'x', 'x', '1'],
    ['POST', null, '', '0'],
  ])('%s with body %j sends %j', async (method, body, sent, length) => {
    const seen: unknown[] = [];
    const target = await targets.http((request, response) => {
      const {
        connection,
        'content-length': contentLength,
        'content-type': type,
        'x-latin': latin,
      } = request.headers;
      withBody(request, (text) => {
        seen.push([request.method, text, contentLength, type, latin, connection]);
        response.end();
      });
    });
    const headers = { 'X-Latin': 'caf\u00e9' };
    expect(await check(target.origin, egress, { method, body, headers })).toMatchObject({ status: 'UP' });
    expect(seen).toEqual([[method, sent, length, undefined, 'caf\u00e9', 'close']]);
  });

  test('keeps path and query as written, without fragment, user name and password', async () => {
    const seen: unknown[] = [];
    const target = await targets.http((request, response) => {
      seen.push(request.url, request.headers.authorization);
      response.end();
    });
    await check(`http://user:secret@127.0.0.1:${target.port}/a%20b/?q=1&q=2#part`, egress);
    expect(seen).toEqual(['/a%20b/?q=1&q=2', undefined]);
  });
});

describe('a failing target is a result', () => {
  test('a status that fails', async () => {
    const target = await targets.http((_request, response) => response.writeHead(503).end('down'));
    const result = await check(target.origin, egress, { assertions: { bodyContains: 'down' } });
    expect(result).toMatchObject({ status: 'DOWN', statusCode: 503, errorReason: 'HTTP_503' });
    expect(result.latencyMs).toBeGreaterThanOrEqual(1);
    expect(result.timings.download).toBeNull();
  });

  test('an assertion on the body', async () => {
    const target = await targets.http((_request, response) => response.end('all fine'));
    expect(await check(target.origin, egress, { assertions: { bodyContains: 'superb' } })).toMatchObject({
      status: 'DOWN',
      statusCode: 200,
      errorReason: 'UNKNOWN_ERROR',
      errorDetail: 'body does not contain “superb”',
    });
  });

  test('nothing listens', async () => {
    const port = await targets.closedPort();
    expect(await check(`http://127.0.0.1:${port}`, egress)).toMatchObject({
      status: 'DOWN',
      latencyMs: 0,
      statusCode: null,
      errorReason: 'CONNECTION_REFUSED',
      errorDetail: `connection refused by 127.0.0.1:${port}`,
    });
    expect(await check(`http://localhost:${port}`, egress)).toMatchObject({
      latencyMs: 0,
      errorReason: 'CONNECTION_REFUSED',
    });
  });

  test('a name that does not resolve', async () => {
    const failing = createEgress({
      allowCidrs: [],
      lookup: (host, _options, done) => {
        const error = Object.assign(new Error(`getaddrinfo ENOTFOUND ${host}`), {
          code: 'ENOTFOUND',
          hostname: host,
        });
        process.nextTick(done, error, []);
      },
    });
    expect(await check('http://nowhere.test/', failing)).toMatchObject({
      status: 'DOWN',
      latencyMs: 0,
      statusCode: null,
      errorReason: 'DNS_ERROR',
      errorDetail: 'name nowhere.test does not exist (ENOTFOUND)',
    });
  });

  test('a resolver that never responds: TIMEOUT without a latency', async () => {
    const silent = createEgress({ allowCidrs: [], lookup: () => undefined });
    expect(await check('http://slow.test/', silent, { timeoutMs: 60 })).toMatchObject({
      latencyMs: 0,
      statusCode: null,
      errorReason: 'TIMEOUT',
      errorDetail: 'name lookup timed out after 0.06 s',
    });
  });

  test('a server that never responds: TIMEOUT with the elapsed time', async () => {
    holdProbeClock();
    const target = await targets.http(() => jest.advanceTimersByTime(80));
    const result = await check(target.origin, egress, { timeoutMs: 80 });
    expect(result).toMatchObject({
      status: 'DOWN',
      latencyMs: 80,
      statusCode: null,
      errorReason: 'TIMEOUT',
      errorDetail: expect.stringMatching(/^no response within 0\.08 s \(connected after \d+ ms\)$/),
    });
    await target.allClosed();
  });

  test.each(['not a url', 'ftp://127.0.0.1/', '', 'http://'])('the URL %j', async (url) => {
    expect(await check(url, egress)).toMatchObject({ latencyMs: 0, errorReason: 'UNKNOWN_ERROR' });
  });

  test('port 0 is not replaced by 80', async () => {
    const result = await check('http://127.0.0.1:0/', egress);
    expect(result).toMatchObject({ status: 'DOWN', latencyMs: 0 });
    expect(result.errorDetail).toContain('127.0.0.1');
    expect(result.errorDetail).not.toContain(':80');
  });

  test('a header that cannot be sent', async () => {
    const target = await targets.http((_request, response) => response.end());
    const result = await check(target.origin, egress, { headers: { 'X-Bad': 'a\r\nInjected: b' } });
    expect(result).toMatchObject({ status: 'DOWN', latencyMs: 0, errorReason: 'UNKNOWN_ERROR' });
    expect(result.errorDetail).toContain('X-Bad');
    expect(target.connections()).toBe(0);
  });
});

describe('https', () => {
  test('has a TLS timing and the expiry of the certificate', async () => {
    const target = await targets.https(certificate, (_request, response) => response.end('ok'));
    const trusting = loopbackEgress(certificate.ca);
    const result = await check(target.origin, trusting, { assertions: { certificateMinDays: 29 } });
    expect(result).toMatchObject({ status: 'UP', statusCode: 200 });
    expect(result.timings.tls).toEqual(expect.any(Number));
    const days = ((result.certificateExpiresAt?.getTime() ?? 0) - Date.now()) / 86_400_000;
    expect(days).toBeGreaterThan(29.9);
    expect(days).toBeLessThan(30.1);
    await target.allClosed();
  });

  test('a certificate that ends too soon', async () => {
    const target = await targets.https(certificate, (_request, response) => response.end('ok'));
    const result = await check(target.origin, loopbackEgress(certificate.ca), {
      assertions: { certificateMinDays: 31 },
    });
    expect(result).toMatchObject({ status: 'DOWN', statusCode: 200, errorReason: 'UNKNOWN_ERROR' });
    expect(result.errorDetail).toMatch(/^certificate expires in (29|30) days, below the minimum of 31 days$/);
  });

  test('an expired certificate', async () => {
    const expired = await createCertificate(['127.0.0.1'], { validDays: -1 });
    const target = await targets.https(expired, (_request, response) => response.end('ok'));
    expect(await check(target.origin, loopbackEgress(expired.ca))).toMatchObject({
      latencyMs: 0,
      statusCode: null,
      errorReason: 'UNKNOWN_ERROR',
      errorDetail: expect.stringMatching(/^certificate expired (2[4-9]|3\d) hours ago/),
    });
  });

  test('an unknown authority, and another host name', async () => {
    const target = await targets.https(certificate, (_request, response) => response.end('ok'));
    const unknown = await check(target.origin, egress);
    expect(unknown.errorReason).toBe('UNKNOWN_ERROR');
    expect(unknown.errorDetail).toContain('SELF_SIGNED_CERT_IN_CHAIN');
    const other = await createCertificate(['other.test']);
    const named = await targets.https(other, (_request, response) => response.end('ok'));
    const mismatch = await check(named.origin, loopbackEgress(other.ca));
    expect(mismatch.errorDetail).toBe('certificate is not valid for 127.0.0.1 (it is for other.test)');
  });

  test('a plain server where TLS is expected, and a silent one', async () => {
    const plain = await targets.http((_request, response) => response.end('ok'));
    const wrong = await check(`https://127.0.0.1:${plain.port}/`, egress);
    expect(wrong).toMatchObject({ latencyMs: 0, statusCode: null, errorReason: 'UNKNOWN_ERROR' });
    expect(wrong.errorDetail).toMatch(/^TLS failed: [a-z ]+ \((EPROTO|ERR_SSL_[A-Z_]+)\)$/);
    holdProbeClock();
    const silent = await targets.tcp((socket) => {
      // The beginning of the handshake: the check has connected.
      socket.once('data', () => jest.advanceTimersByTime(80));
    });
    const stuck = await check(`https://127.0.0.1:${silent.port}/`, egress, { timeoutMs: 80 });
    expect(stuck).toMatchObject({
      latencyMs: 80,
      errorReason: 'TIMEOUT',
      errorDetail: expect.stringMatching(
        /^TLS handshake not complete within 0\.08 s \(connected after \d+ ms\)$/,
      ),
    });
  });
});

describe('shutdown', () => {
  test('ends a running probe without a result', async () => {
    const shutdown = new AbortController();
    const target = await targets.http(() => shutdown.abort());
    await expect(
      check(target.origin, egress, {}, new Prober({ egress, signal: shutdown.signal })),
    ).rejects.toThrow(ProbeAbortedError);
    await target.allClosed();
  });

  test('while a body is read', async () => {
    const shutdown = new AbortController();
    const target = await targets.http((_request, response) => {
      response.write('begun');
      setTimeout(() => shutdown.abort(), 30);
    });
    const assertions = { bodyContains: 'never' };
    await expect(
      check(target.origin, egress, { assertions }, new Prober({ egress, signal: shutdown.signal })),
    ).rejects.toThrow(ProbeAbortedError);
    await target.allClosed();
  });

  test('starts no probe afterwards', async () => {
    const target = await targets.http((_request, response) => response.end());
    const prober = new Prober({ egress, signal: AbortSignal.abort() });
    await expect(check(target.origin, egress, {}, prober)).rejects.toThrow(ProbeAbortedError);
    expect(target.connections()).toBe(0);
  });

  test('any number of probes share one listener of a signal, which ends them all', async () => {
    const shutdown = new AbortController();
    const { signal } = shutdown;
    const prober = new Prober({ egress, signal });
    const quick = await targets.http((_request, response) => response.end());
    const results = await Promise.all(
      Array.from({ length: 30 }, () => check(quick.origin, egress, {}, prober)),
    );
    expect(new Set(results.map(({ status }) => status))).toEqual(new Set(['UP']));
    const hanging = await targets.http(() => undefined);
    const running = Array.from({ length: 30 }, () => check(hanging.origin, egress, {}, prober));
    expect(getEventListeners(signal, 'abort')).toHaveLength(1);
    shutdown.abort();
    const ends = await Promise.allSettled(running);
    expect(ends).toEqual(
      Array.from({ length: 30 }, () => ({ status: 'rejected', reason: expect.any(ProbeAbortedError) })),
    );
  });
});
