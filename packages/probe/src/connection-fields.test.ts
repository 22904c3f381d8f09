import type { RequestListener } from 'node:http';
import type { ServerOptions } from 'node:https';
import type { TLSSocket } from 'node:tls';
import { beforeAll, describe, expect, test } from '@jest/globals';
import { type Certificate, createCertificate } from '@tocsin/embedded/certificates';
import {
  check,
  failingEgress,
  type LocalTarget,
  loopbackEgress,
  useLocalTargets,
} from './testing/local-targets.ts';

const targets = useLocalTargets();
const egress = loopbackEgress();

let server: Certificate;
let client: Certificate;
let stranger: Certificate;
beforeAll(async () => {
  server = await createCertificate(['localhost', 'shop.test', '127.0.0.1']);
  client = await createCertificate(['client.test']);
  stranger = await createCertificate(['client.test']);
});

/** Responds with what the server sees of the connection. */
const describing: RequestListener = ({ socket, headers }, response) => {
  const { servername } = socket as TLSSocket & { readonly servername?: string };
  const { subject = null } = 'getPeerCertificate' in socket ? (socket as TLSSocket).getPeerCertificate() : {};
  response.end(
    JSON.stringify({ host: headers.host, servername, client: subject?.CN, to: socket.localAddress }),
  );
};

const startHttps = (options: ServerOptions = {}): Promise<LocalTarget> =>
  targets.https({ ...server, ...options }, describing);

/** Assertions that show what the server sees. */
const sees = (text: string) => ({ assertions: { bodyContains: text } });

const redirectTo =
  (location: () => string): RequestListener =>
  (request, response) =>
    request.url === '/'
      ? response.writeHead(302, { location: location() }).end()
      : describing(request, response);

describe('followRedirects: false', () => {
  test('lets the first response decide, with its status code and body', async () => {
    const { origin } = await targets.http((_, response) =>
      response.writeHead(301, { location: '/x' }).end('moved'),
    );
    const first = { followRedirects: false };
    const passed = await check(origin, egress, { ...first, ...sees('moved') });
    expect(passed).toMatchObject({ status: 'UP', statusCode: 301 });
    const failed = await check(origin, egress, { ...first, assertions: { statusCode: 200 } });
    expect(failed.errorDetail).toBe('expected status 200, got 301');
  });
});

describe('ipFamily', () => {
  test('connects to addresses of this family only', async () => {
    const { port } = await targets.http(describing, '::');
    const url = `http://both.localhost:${port}`;
    expect(await check(url, egress, { ipFamily: 6, ...sees('"::1"') })).toMatchObject({ status: 'UP' });
    expect(await check(url, egress, { ipFamily: 4, ...sees('127.0.0.1') })).toMatchObject({ status: 'UP' });
  });

  test('fails in words if the name has none', async () => {
    const error = new Error('getaddrinfo ENOTFOUND shop.test');
    const missing = Object.assign(error, {
      code: 'ENOTFOUND',
      syscall: 'getaddrinfo',
      hostname: 'shop.test',
    });
    const result = await check('http://shop.test/', failingEgress(missing), { ipFamily: 6 });
    const errorDetail = expect.stringContaining('shop.test has no IPv6 address');
    expect(result).toMatchObject({ errorReason: 'DNS_ERROR', errorDetail });
  });

  test.each([
    ['http://127.0.0.1:9/', 6, '127.0.0.1 has no IPv6 address'],
    ['http://[::1]:9/', 4, '::1 has no IPv4 address'],
  ] as const)('%s with %i fails in words', async (url, ipFamily, errorDetail) => {
    const result = await check(url, egress, { ipFamily });
    expect(result).toMatchObject({
      errorReason: 'DNS_ERROR',
      errorDetail: expect.stringContaining(errorDetail),
    });
  });
});

describe('connectTo', () => {
  test('replaces the address, while Host, SNI and certificate stay those of the URL', async () => {
    const { port } = await startHttps();
    const url = `https://shop.test:${port}/`;
    const tls = { ca: server.ca };
    for (const connectTo of ['127.0.0.1', `localhost:${port}`]) {
      const expected = `"host":"shop.test:${port}","servername":"shop.test"`;
      expect(await check(url, egress, { connectTo, tls, ...sees(expected) })).toMatchObject({ status: 'UP' });
    }
    const wrong = await check(`https://other.test:${port}/`, egress, { connectTo: '127.0.0.1', tls });
    expect(wrong.errorDetail).toMatch(/^certificate is not valid for other.test/);
    // The certificate of a URL with an address is not that of the destination.
    const address = await check(`https://192.0.2.1:${port}/`, egress, { connectTo: '127.0.0.1', tls });
    expect(address.errorDetail).toMatch(/^certificate is not valid for 192.0.2.1/);
  });

  test('is for redirects to the same host and port only, and the guard applies to it', async () => {
    const elsewhere = await targets.http(describing);
    const { port } = await targets.http(redirectTo(() => '/same'));
    const url = `http://shop.test:${port}/`;
    expect(await check(url, egress, { connectTo: '127.0.0.1' })).toMatchObject({ status: 'UP' });
    const other = await targets.http(redirectTo(() => elsewhere.origin));
    const fields = { connectTo: `127.0.0.1:${other.port}`, ...sees(`127.0.0.1:${elsewhere.port}`) };
    expect(await check('http://shop.test/', egress, fields)).toMatchObject({ status: 'UP' });
    const blocked = await check(url, egress, { connectTo: '10.0.0.1:80' });
    expect(blocked.errorDetail).toMatch(/^address 10.0.0.1 is in a private range/);
  });
});

describe('tls', () => {
  const mutual = (): ServerOptions => ({ ca: client.ca, requestCert: true, rejectUnauthorized: true });
  const identity = () => ({ certificate: client.cert, key: client.key });

  test('ca replaces the trusted CAs', async () => {
    const { origin } = await startHttps();
    // PEM texts may follow each other without a line break.
    const ca = client.ca.trim() + server.ca.trim();
    expect(await check(origin, egress, { tls: { ca } })).toMatchObject({ status: 'UP' });
    const trusting = loopbackEgress(server.ca);
    expect(await check(origin, trusting)).toMatchObject({ status: 'UP' });
    const replaced = await check(origin, trusting, { tls: { ca: client.ca } });
    expect(replaced.errorDetail).toMatch(/^certificate is signed by an unknown authority/);
  });

  test('serverName replaces the name in SNI and in the verification', async () => {
    const { origin } = await startHttps();
    const named = { tls: { ca: server.ca, serverName: 'shop.test' }, ...sees('"servername":"shop.test"') };
    expect(await check(origin, egress, named)).toMatchObject({ status: 'UP' });
    const other = await check(origin, egress, { tls: { ca: server.ca, serverName: 'other.test' } });
    expect(other.errorDetail).toMatch(/^certificate is not valid for other.test/);
  });

  test('verify: false accepts any certificate, and still knows when it expires', async () => {
    const expired = await createCertificate(['other.test'], { validDays: -2 });
    const { origin } = await startHttps(expired);
    const result = await check(origin, egress, { tls: { verify: false } });
    expect(result.status).toBe('UP');
    expect(result.certificateExpiresAt?.getTime()).toBeLessThan(Date.now());
  });

  test.each(['TLSv1.2', 'TLSv1.3'] as const)(
    'a client certificate passes or fails in words (%s)',
    async (version) => {
      const { origin } = await startHttps({ ...mutual(), minVersion: version, maxVersion: version });
      const tls = { ca: server.ca };
      const seen = { ...sees('"client":"client.test"') };
      expect(await check(origin, egress, { tls: { ...tls, ...identity() }, ...seen })).toMatchObject({
        status: 'UP',
      });
      const without = await check(origin, egress, { tls });
      expect(without.errorDetail).toMatch(/^server requires a client certificate/);
      // Node closes the connection without an alert.
      const { cert: certificate, key } = stranger;
      const wrong = await check(origin, egress, { tls: { ...tls, certificate, key } });
      expect(wrong.errorDetail).toMatch(
        /^connection closed .*; the server may refuse the client certificate$/,
      );
    },
  );

  test.each([
    [
      'a broken CA',
      () => ({ ca: `${server.ca}${server.ca.replace(/\n..../, '\nA-A-')}` }),
      /certificate 2 of the CA/,
    ],
    ['another key', () => ({ ...identity(), key: stranger.key }), /key values mismatch/],
  ])('%s fails the check and nothing else', async (_name, tls, words) => {
    const { port } = await startHttps();
    const result = await check(`https://localhost:${port}/`, egress, { tls: tls() });
    expect(result).toMatchObject({ status: 'DOWN', errorDetail: expect.stringMatching(words) });
  });

  test('the client certificate is never sent to another origin, but trusted CAs stay', async () => {
    const optional = { ...mutual(), rejectUnauthorized: false };
    const other = await startHttps(optional);
    const own = await targets.https(
      { ...server, ...optional },
      redirectTo(() => `${other.origin}/`),
    );
    const tls = { ca: server.ca, ...identity() };
    const result = await check(own.origin, egress, { tls, assertions: { bodyNotContains: 'client.test' } });
    expect(result).toMatchObject({ status: 'UP', errorDetail: null });
    // A trigger may replace the URL of the monitor.
    const override = { ownUrl: own.origin, tls, assertions: { bodyNotContains: 'client.test' } };
    expect(await check(other.origin, egress, override)).toMatchObject({ status: 'UP' });
    const preview = await check(`${own.origin}/preview`, egress, {
      ownUrl: own.origin,
      tls,
      ...sees('client.test'),
    });
    expect(preview.status).toBe('UP');
  });
});
