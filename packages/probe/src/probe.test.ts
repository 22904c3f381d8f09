import { getEventListeners } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { describe, expect, jest, test } from '@jest/globals';
import type { HttpMethod } from '@tocsin/contracts/vocabulary';
import { createEgress, type Egress } from '@tocsin/egress/create-egress';
import { createCertificate } from '@tocsin/embedded/certificates';
import { until } from '@tocsin/embedded/testing/until';
import { check, holdProbeClock, loopbackEgress, useLocalTargets, withBody } from './testing/local-targets.ts';
import { ProbeAbortedError, Prober, type ProbeResult, ProbeThrottledError } from './probe.ts';

const targets = useLocalTargets();
const egress = loopbackEgress();

const certificate = await createCertificate(['localhost', '127.0.0.1']);

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
      ownFailure: null,
    });
    expect(Number.isInteger(result.latencyMs)).toBe(true);
    expect(result.latencyMs).toBeGreaterThanOrEqual(1);
    await target.allClosed();
  });

  test('by name has a DNS timing too', async () => {
    const target = await targets.http((_request, response) => response.end('ok'));
    const { timings } = await check(`http://localhost:${target.port}/`, egress);
    expect(timings.dns).toEqual(expect.any(Number));
  });

  test('gets a new connection for each check, here over IPv6', async () => {
    const target = await targets.http((_request, response) => response.end('ok'), '::1');
    for (let count = 1; count <= 2; count += 1) {
      expect(await check(target.origin, egress)).toMatchObject({ status: 'UP', statusCode: 200 });
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
    ['POST', 'pörridge', 'pörridge', '9'],
    ['PATCH', 'x', 'x', '1'],
    ['POST', null, '', '0'],
  ])('%s with body %j sends %j', async (method, body, sent, length) => {
    const seen: unknown[] = [];
    const target = await targets.http((request, response) => {
      const { connection, 'content-length': contentLength, 'content-type': type } = request.headers;
      withBody(request, (text) => {
        seen.push([request.method, text, contentLength, type, connection]);
        response.end();
      });
    });
    expect(await check(target.origin, egress, { method, body })).toMatchObject({ status: 'UP' });
    expect(seen).toEqual([[method, sent, length, undefined, 'close']]);
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
  test('nothing listens', async () => {
    const port = await targets.closedPort();
    expect(await check(`http://127.0.0.1:${port}`, egress)).toMatchObject({
      status: 'DOWN',
      latencyMs: 0,
      statusCode: null,
      errorReason: 'CONNECTION_REFUSED',
      errorDetail: `connection refused by 127.0.0.1:${port}`,
    });
  });

  test.each(['not a url', 'ftp://127.0.0.1/'])('the URL %j', async (url) => {
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
});

describe('shutdown', () => {
  test('ends a probe without a result, even while it reads a body', async () => {
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

  test('any number of probes share one listener of a signal, which ends them all and starts none afterwards', async () => {
    const shutdown = new AbortController();
    const { signal } = shutdown;
    const prober = new Prober({ egress, signal });
    const quick = await targets.http((_request, response) => response.end());
    expect(await check(quick.origin, egress, {}, prober)).toMatchObject({ status: 'UP' });
    const hanging = await targets.http(() => undefined);
    const running = Array.from({ length: 30 }, () => check(hanging.origin, egress, {}, prober));
    expect(getEventListeners(signal, 'abort')).toHaveLength(1);
    shutdown.abort();
    await expect(check(quick.origin, egress, {}, prober)).rejects.toThrow(ProbeAbortedError);
    expect(quick.connections()).toBe(1);
    expect(await Promise.allSettled(running)).toEqual(
      Array.from({ length: 30 }, () => ({ status: 'rejected', reason: expect.any(ProbeAbortedError) })),
    );
  });
});

test('a check whose name is never looked up has no result, and one whose name server is silent is DOWN', async () => {
  holdProbeClock();
  const maxLookups = 50;
  const asked: string[] = [];
  const egress = createEgress({ allowCidrs: [], lookup: (hostname) => asked.push(hostname) });
  const lookUp = (name: string): Promise<ProbeResult> => check(`http://${name}/`, egress, { timeoutMs: 1 });
  const silent = lookUp('silent.test');
  jest.advanceTimersByTime(1);
  expect(await silent).toMatchObject({ status: 'DOWN', errorReason: 'TIMEOUT' });
  for (let index = 0; index < maxLookups; index += 1) void egress.checkUrl(`http://${index}.test/`, 'test');
  await until('the lookups', () => asked.length === maxLookups);
  const late = expect(lookUp('late.test')).rejects.toThrow(ProbeThrottledError);
  jest.advanceTimersByTime(1);
  await late;
  expect(asked).not.toContain('late.test');
});

test('time spent waiting for other lookups is not latency, and a timeout meanwhile has no result', async () => {
  holdProbeClock();
  const waiting: Egress = {
    ...egress,
    connectionTo: (origin, owner, onResolved) => {
      jest.advanceTimersByTime(500);
      owner.onBegin?.(500);
      return egress.connectionTo(origin, owner, onResolved);
    },
  };
  const target = await targets.http((request, response) => request.url === '/' && response.end());
  const url = `http://localhost:${target.port}/`;
  expect(await check(url, waiting)).toMatchObject({ status: 'UP', latencyMs: 1, timings: { dns: 0 } });
  const hanging = expect(check(`${url}hangs`, waiting, { timeoutMs: 1_000 })).rejects.toThrow(
    ProbeThrottledError,
  );
  await until('the request', () => target.connections() === 2);
  jest.advanceTimersByTime(500);
  await hanging;
});

test('a check has no result if other accounts need its capacity', async () => {
  const hanging = await targets.http(() => undefined);
  const revoked = new AbortController();
  const running = check(hanging.origin, egress, { signal: revoked.signal });
  await until('the request', () => hanging.connections() === 1);
  revoked.abort();
  await expect(running).rejects.toThrow(ProbeThrottledError);
  await expect(check(hanging.origin, egress, { signal: revoked.signal })).rejects.toThrow(
    ProbeThrottledError,
  );
});
