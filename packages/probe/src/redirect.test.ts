import type { RequestListener } from 'node:http';
import { describe, expect, jest, test } from '@jest/globals';
import type { HttpMethod } from '@tocsin/contracts/vocabulary';
import { createCertificate } from '@tocsin/embedded/certificates';
import {
  check,
  holdProbeClock,
  loopbackEgress,
  responding,
  useLocalTargets,
  withBody,
} from './testing/local-targets.ts';

const targets = useLocalTargets();
const egress = loopbackEgress();

interface Seen {
  readonly line: string;
  readonly body: string;
  readonly token: string | undefined;
  readonly contentType: string | undefined;
}

/** Redirects `/` with this status to a location, responds to everything else with 200, and records the requests. */
function redirecting(statusCode: number, location: () => string, seen: Seen[]): RequestListener {
  return (request, response) => {
    withBody(request, (body) => {
      const { 'x-token': token, 'content-type': contentType } = request.headers;
      seen.push({ line: `${request.method} ${request.url}`, body, token: token?.toString(), contentType });
      if (request.url === '/') response.writeHead(statusCode, { location: location() }).end('moved');
      else response.end('arrived');
    });
  };
}

const CUSTOM = { headers: { 'X-Token': 'secret', 'Content-Type': 'text/plain' }, body: 'payload' };

describe('within an origin', () => {
  test.each<[number, HttpMethod, HttpMethod, boolean]>([
    [301, 'GET', 'GET', false],
    [302, 'HEAD', 'HEAD', false],
    [303, 'HEAD', 'HEAD', false],
    [301, 'POST', 'GET', false],
    [302, 'POST', 'GET', false],
    [303, 'POST', 'GET', false],
    [307, 'POST', 'POST', true],
    [308, 'POST', 'POST', true],
    [301, 'PUT', 'PUT', true],
    [302, 'PATCH', 'PATCH', true],
    [303, 'PUT', 'GET', false],
    [307, 'PATCH', 'PATCH', true],
  ])('%d turns %s into %s', async (statusCode, method, then, keepsBody) => {
    const seen: Seen[] = [];
    const target = await targets.http(redirecting(statusCode, () => '/next', seen));
    expect(await check(target.origin, egress, { ...CUSTOM, method })).toMatchObject({
      status: 'UP',
      statusCode: 200,
    });
    const describesBody = keepsBody || method === then;
    expect(seen[1]).toEqual({
      line: `${then} /next`,
      body: keepsBody ? 'payload' : '',
      token: 'secret',
      contentType: describesBody ? 'text/plain' : undefined,
    });
    expect(target.connections()).toBe(2);
    await target.allClosed();
  });

  test.each([300, 399])('%d is a response, not a redirect', async (statusCode) => {
    const target = await targets.http((_request, response) => {
      response.writeHead(statusCode, { location: '/next' }).end();
    });
    expect(await check(target.origin, egress)).toMatchObject({ status: 'UP', statusCode });
    expect(target.connections()).toBe(1);
  });
});

describe('across origins', () => {
  test.each([302, 308])('%d drops custom headers and body', async (statusCode) => {
    const [first, second]: [Seen[], Seen[]] = [[], []];
    const other = await targets.http(redirecting(200, () => '', second));
    const target = await targets.http(redirecting(statusCode, () => `${other.origin}/away`, first));
    expect(await check(target.origin, egress, { ...CUSTOM, method: 'PUT' })).toMatchObject({ status: 'UP' });
    expect(first[0]).toMatchObject({ line: 'PUT /', body: 'payload', token: 'secret' });
    expect(second).toEqual([{ line: 'PUT /away', body: '', token: undefined, contentType: undefined }]);
  });

  test('and they are not sent again on the way back', async () => {
    const seen: Seen[] = [];
    const target = await targets.http(redirecting(307, () => other.origin, seen));
    const other = await targets.http((_request, response) => {
      response.writeHead(307, { location: `${target.origin}/chosen-by-other` }).end();
    });
    expect(await check(target.origin, egress, { ...CUSTOM, method: 'POST' })).toMatchObject({ status: 'UP' });
    expect(seen[1]).toMatchObject({ line: 'POST /chosen-by-other', body: '', token: undefined });
  });

  test('another host name of the same server is another origin', async () => {
    const seen: Seen[] = [];
    const target = await targets.http(redirecting(302, () => `http://localhost:${target.port}/next`, seen));
    await check(target.origin, egress, CUSTOM);
    expect(seen.map(({ token }) => token)).toEqual(['secret', undefined]);
  });
});

test('a redirect that is asserted itself is the response', async () => {
  const target = await targets.http((_request, response) => {
    response.writeHead(302, { location: 'http://10.0.0.1/' }).end('moved');
  });
  const assertions = { statusCode: 302, bodyContains: 'moved' };
  expect(await check(target.origin, egress, { assertions })).toMatchObject({ status: 'UP', statusCode: 302 });
  const other = await check(target.origin, egress, { assertions: { statusCode: 301 } });
  expect(other).toMatchObject({ status: 'DOWN', errorReason: 'HTTP_302' });
});

describe('the chain', () => {
  test.each([
    [5, { status: 'UP', statusCode: 200 }],
    [6, { status: 'DOWN', statusCode: 302, errorDetail: 'more than 5 redirects' }],
  ])('of %i redirects makes at most six requests', async (redirects, expected) => {
    const target = await targets.http((request, response) => {
      const step = Number(request.url?.slice(1));
      if (step < redirects) response.writeHead(302, { location: `/${step + 1}` });
      response.end();
    });
    expect(await check(`${target.origin}/0`, egress)).toMatchObject(expected);
    expect(target.connections()).toBe(6);
  });

  test('is one exchange under one deadline', async () => {
    holdProbeClock();
    const target = await targets.http((request, response) => {
      jest.advanceTimersByTime(50);
      response.writeHead(302, { location: `${request.url}x` }).end();
    });
    const result = await check(target.origin, egress, { timeoutMs: 120 });
    expect(result).toMatchObject({ errorReason: 'TIMEOUT', latencyMs: 150, statusCode: null });
    expect(target.connections()).toBe(3);
  });

  test('keeps the certificate of an earlier hop', async () => {
    const certificate = await createCertificate(['localhost', '127.0.0.1']);
    const trusting = loopbackEgress(certificate.ca);
    const plain = await targets.http((_request, response) => response.end('arrived'));
    const moved = await targets.https(certificate, (request, response) => {
      if (request.url === '/') response.writeHead(302, { location: plain.origin }).end();
      else response.end('arrived');
    });
    const entry = await targets.http((_request, response) => {
      response.writeHead(302, { location: `${moved.origin}/here` }).end();
    });
    expect((await check(entry.origin, trusting)).certificateExpiresAt).toEqual(expect.any(Date));
    expect((await check(moved.origin, trusting)).certificateExpiresAt).toEqual(expect.any(Date));
  });
});

describe('a Location', () => {
  test.each([
    [undefined, 'status 302 without a Location to follow'],
    ['', 'status 302 without a Location to follow'],
    ['http://[bad', 'redirect to “http://[bad” is not a valid URL'],
    ['file:///etc/passwd', 'redirect to “file:///etc/passwd” leaves http and https'],
    ['java\tscript:alert(1)', 'redirect to “java script:alert(1)” leaves http and https'],
    // Old servers fold long headers.
    ['ftp:\r\n //x', 'redirect to “ftp: //x” is not a valid URL'],
  ])('%j cannot be followed', async (location, errorDetail) => {
    const header = location === undefined ? '' : `Location: ${location}\r\n`;
    const target = await responding(targets, Buffer.from(`HTTP/1.1 302 Found\r\n${header}\r\n`));
    expect(await check(target.origin, egress)).toMatchObject({
      status: 'DOWN',
      statusCode: 302,
      errorReason: 'UNKNOWN_ERROR',
      errorDetail,
    });
    expect(target.connections()).toBe(1);
  });

  test('of 60 KB cannot be followed', async () => {
    const bytes = Buffer.from(`HTTP/1.1 302 Found\r\nLocation: x:${'é'.repeat(30_000)}\r\n\r\n`);
    const { errorDetail } = await check((await responding(targets, bytes)).origin, egress);
    expect(errorDetail).toBe('redirect to a text of 30002 characters leaves http and https');
  });

  test.each([
    ['relative/path?q', '/relative/path?q'],
    ['?only=query', '/?only=query'],
    ['/caf\u00e9', '/caf%C3%A9'],
    ['/a b#part', '/a%20b'],
  ])('%j goes to %s', async (location, path) => {
    const seen: (string | undefined)[] = [];
    const target = await targets.http((request, response) => {
      seen.push(request.url);
      const bytes = Buffer.from(location).toString('latin1');
      if (seen.length === 1) response.writeHead(302, { location: bytes }).end();
      else response.end();
    });
    expect(await check(target.origin, egress)).toMatchObject({ status: 'UP' });
    expect(seen).toEqual(['/', path]);
  });
});
