import { once } from 'node:events';
import http from 'node:http';
import https from 'node:https';
import { isIP, type AddressInfo } from 'node:net';
import type net from 'node:net';
import { afterAll, beforeEach, describe, expect, test } from '@jest/globals';
import { createCertificate } from '@tocsin/embedded/certificates';
import type { Origin } from './connection.ts';
import { createEgress, type Egress } from './create-egress.ts';
import { createNameResolver, type LookupAll } from './dns/name-resolver.ts';
import { EgressBlockedError } from './guarded-lookup.ts';
import { DnsServer } from './testing/dns-server.ts';
import { testOwner } from './testing/test-owner.ts';

const LOOPBACK = ['127.0.0.0/8', '::1/128'];
const NAMES: Readonly<Record<string, readonly string[]>> = {
  'loopback.test': ['127.0.0.1'],
  'loopback6.test': ['::1'],
  'both.test': ['::1', '127.0.0.1'],
  'private.test': ['10.0.0.1'],
  'mixed.test': ['10.0.0.1', '127.0.0.1'],
  'public.test': ['8.8.8.8'],
  'empty.test': [],
};

let connections = 0;

const lookup: LookupAll = (hostname, _options, callback) => {
  const addresses = NAMES[hostname]?.map((address) => ({ address, family: isIP(address) }));
  if (addresses) process.nextTick(callback, null, addresses);
  else process.nextTick(callback, Object.assign(new Error(`no ${hostname}`), { code: 'ENOTFOUND' }), []);
};

function portOf(server: net.Server): number {
  return (server.address() as AddressInfo).port;
}

async function listening<Server extends net.Server>(server: Server): Promise<Server> {
  server.on('connection', () => (connections += 1));
  await new Promise<void>((resolve) => server.listen({ port: 0, host: '::', ipv6Only: false }, resolve));
  return server;
}

/** Returns the status of a GET through the guard. An `Origin` may have a raw host that the URL parser would rewrite. */
function get(
  egress: Egress,
  to: string | Origin,
  options: http.RequestOptions = {},
): Promise<number | undefined> {
  const origin = typeof to === 'string' ? new URL(to) : to;
  return new Promise((resolve, reject) => {
    const createConnection = egress.connectionTo(origin, testOwner(origin.hostname));
    const request = http.get({ ...options, createConnection }, (response) => {
      response.resume();
      response.on('end', () => resolve(response.statusCode));
    });
    request.on('error', reject);
  });
}

const certificate = await createCertificate(['loopback.test', 'both.test', '127.0.0.1']);
/** A DNS server without names. */
const names = await DnsServer.start({});
const plain = await listening(http.createServer((_request, response) => response.end('ok')));
const secure = await listening(
  https.createServer({ key: certificate.key, cert: certificate.cert }, (_request, response) => {
    response.end('ok');
  }),
);

afterAll(async () => {
  plain.close();
  secure.close();
  await names.stop();
});

beforeEach(() => {
  connections = 0;
});

describe('loopback is blocked by default', () => {
  test.each([
    ['localhost', 'EGRESS_BLOCKED'],
    // getaddrinfo would read these as addresses, but the resolver of checks treats them as names.
    ['127.1', 'ENOTFOUND'],
    ['0x7f000001', 'ENOTFOUND'],
  ])('the real resolver with the raw host %s', async (host, code) => {
    const resolve = createNameResolver({ configFile: '/dev/null', servers: [names.address] });
    const lookup: LookupAll = (hostname, options, onResult) =>
      void resolve(hostname, options, { onResult, onRetry: () => undefined, onEnd: () => undefined });
    const egress = createEgress({ allowCidrs: [], lookup });
    const raw = { protocol: 'http:', hostname: host, port: `${portOf(plain)}` };
    await expect(get(egress, raw)).rejects.toMatchObject({ code });
    expect(connections).toBe(0);
  });

  test('options of the request cannot bypass the guard', async () => {
    const egress = createEgress({ allowCidrs: [], lookup });
    const options = {
      lookup: ((_host, _options, callback) => callback(null, '127.0.0.1', 4)) as net.LookupFunction,
      family: 4,
      localAddress: '127.0.0.1',
      host: '127.0.0.1',
      hostname: '127.0.0.1',
      socketPath: '/var/run/docker.sock',
    };
    await expect(get(egress, `http://private.test:${portOf(plain)}/`, options)).rejects.toThrow(
      EgressBlockedError,
    );
    expect(connections).toBe(0);
  });

  test('an exception of the policy fails the request, not the process', async () => {
    const ownAddresses = (): string[] => {
      throw new Error('too many open files');
    };
    const egress = createEgress({ allowCidrs: [], lookup, ownAddresses });
    await expect(get(egress, 'http://public.test/')).rejects.toThrow('too many open files');
  });

  test('the error message names the cause and the setting', async () => {
    const egress = createEgress({ allowCidrs: [], lookup });
    await expect(get(egress, 'http://private.test/')).rejects.toThrow(
      'address 10.0.0.1 of private.test is in a private range; allow it with EGRESS_ALLOW_CIDRS',
    );
    await expect(get(egress, 'http://192.168.7.7/')).rejects.toThrow(
      'address 192.168.7.7 is in a private range; allow it with EGRESS_ALLOW_CIDRS',
    );
  });
});

describe('an allowed range', () => {
  test.each(['[::1]', '[::ffff:127.0.0.1]', 'loopback.test', 'mixed.test'])('reaches %s', async (host) => {
    const egress = createEgress({ allowCidrs: LOOPBACK, lookup });
    await expect(get(egress, `http://${host}:${portOf(plain)}/`)).resolves.toBe(200);
    expect(connections).toBe(1);
  });

  test.each(['http', 'https'])('tries the next address over %s if the first refuses', async (scheme) => {
    const respond: http.RequestListener = (_request, response) => response.end();
    const onlyIPv4 =
      scheme === 'http' ? http.createServer(respond) : https.createServer(certificate, respond);
    await new Promise<void>((resolve) => onlyIPv4.listen(0, '127.0.0.1', resolve));
    const egress = createEgress({ allowCidrs: LOOPBACK, extraCa: certificate.ca, lookup });
    const url = `${scheme}://both.test:${portOf(onlyIPv4)}/`;
    await expect(get(egress, url)).resolves.toBe(200);
    onlyIPv4.close();
    await expect(get(egress, url)).rejects.toMatchObject({ code: 'ECONNREFUSED', errors: [{}, {}] });
  });

  test.each([
    ['http://127.9.9.9/', 80],
    ['https://127.9.9.9/', 443],
    ['https://127.9.9.9:80/', 80],
  ])('connects for %s to port %i', async (url, expected) => {
    const egress = createEgress({ allowCidrs: LOOPBACK, lookup });
    let socket!: net.Socket;
    egress.connectionTo(new URL(url), testOwner(url))({}, (_error, created) => (socket = created));
    // No server needs to listen there.
    socket.on('error', () => undefined);
    const [, port] = (await once(socket, 'connectionAttempt')) as [string, number];
    socket.destroy();
    expect(port).toBe(expected);
  });

  test('passes on errors of the resolver', async () => {
    const egress = createEgress({ allowCidrs: LOOPBACK, lookup });
    await expect(get(egress, 'http://unknown.test/')).rejects.toMatchObject({ code: 'ENOTFOUND' });
    await expect(get(egress, 'http://empty.test/')).rejects.toMatchObject({ code: 'ENOTFOUND' });
  });
});

describe('https', () => {
  test('trusts the extra CA and verifies the name', async () => {
    const egress = createEgress({ allowCidrs: LOOPBACK, extraCa: certificate.ca, lookup });
    const port = portOf(secure);
    await expect(get(egress, `https://loopback.test:${port}/`)).resolves.toBe(200);
    await expect(get(egress, `https://127.0.0.1:${port}/`)).resolves.toBe(200);
    await expect(get(egress, `https://loopback6.test:${port}/`)).rejects.toMatchObject({
      code: 'ERR_TLS_CERT_ALTNAME_INVALID',
    });
    // The certificate must match the URL, not the Host header.
    const options = { headers: { host: 'elsewhere.test' } };
    await expect(get(egress, `https://loopback.test:${port}/`, options)).resolves.toBe(200);
  });

  test('refuses an unknown CA despite options of the request and the environment', async () => {
    const egress = createEgress({ allowCidrs: LOOPBACK, lookup });
    const url = `https://loopback.test:${portOf(secure)}/`;
    const lax = { rejectUnauthorized: false } as http.RequestOptions;
    process.env['NODE_TLS_REJECT_UNAUTHORIZED'] = '0';
    try {
      await expect(get(egress, url, lax)).rejects.toMatchObject({ code: 'UNABLE_TO_VERIFY_LEAF_SIGNATURE' });
    } finally {
      delete process.env['NODE_TLS_REJECT_UNAUTHORIZED'];
    }
  });
});
