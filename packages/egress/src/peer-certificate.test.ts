import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import tls, { type PeerCertificate, type TLSSocket } from 'node:tls';
import { afterAll, expect, test } from '@jest/globals';
import { type Certificate, createCertificate } from '@tocsin/embedded/certificates';
import { CertificateChains } from './certificate-chain.ts';
import { certificateExpiry, checkServerIdentity, readCertificateCheaply } from './connection.ts';

const HOSTS = ['shop.test', 'a.b.shop.test', 'SHOP.test', 'xn--bcher-kva.test', '127.0.0.1', '::1'];
/** Common name and alternative names of each certificate. */
const CERTIFICATES: readonly (readonly [string, readonly string[]])[] = [
  ['shop.test', ['shop.test']],
  ['*.shop.test', []],
  ['shop.test', ['*.shop.test']],
  ['shop.test', ['other.test', '*.b.shop.test', 'shop.test']],
  ['shop.test', ['127.0.0.1']],
  ['other.test', ['127.0.0.1', '::1', 'other.test']],
  ['shop.test', ['https://shop.test/']],
  ['shop.test', ['https://other.test/DNS:shop.test']],
  ['shop.test', ['other.test, DNS:shop.test']],
  ['shop.test', ['shop.test\0.other.test']],
  ['bücher.test', ['xn--bcher-kva.test']],
];

const server = tls.createServer((socket) => socket.end());
server.on('tlsClientError', () => {});
server.listen(0, '127.0.0.1');
await once(server, 'listening');
afterAll(() => void server.close());

const readCheaply = (socket: TLSSocket): void => readCertificateCheaply(socket, new CertificateChains([]));

/** Returns why the client refused the server's certificate, or null. */
async function verify(
  certificate: Certificate,
  host: string,
  check: typeof checkServerIdentity,
  prepare: (socket: TLSSocket) => void = () => {},
): Promise<{ readonly refusal: string | null; readonly socket: TLSSocket }> {
  server.setSecureContext(certificate);
  const { port } = server.address() as AddressInfo;
  const socket = tls.connect({
    host: '127.0.0.1',
    port,
    ca: certificate.ca,
    checkServerIdentity: (_host, peer) => check(host, peer),
  });
  prepare(socket);
  const [error] = (await Promise.race([once(socket, 'secureConnect'), failureOf(socket)])) as [Error?];
  socket.destroy();
  return { refusal: error?.message ?? null, socket };
}

async function failureOf(socket: TLSSocket): Promise<[Error]> {
  return new Promise((resolve) => socket.once('error', (error) => resolve([error])));
}

/** Node's own rule, without its fallback to the common name. */
const byNode: typeof checkServerIdentity = (host, { subjectaltname }) =>
  tls.checkServerIdentity(host, { subjectaltname } as PeerCertificate);

test.each(CERTIFICATES)(
  'a certificate of %s with %j is valid only for its alternative names',
  async (subject, alternativeNames) => {
    const certificate = await createCertificate([subject], { alternativeNames });
    for (const host of HOSTS) {
      const { refusal } = await verify(certificate, host, checkServerIdentity, readCheaply);
      if (alternativeNames.length === 0) expect(refusal).toContain('has no subject alternative name');
      else expect([host, refusal]).toEqual([host, (await verify(certificate, host, byNode)).refusal]);
    }
  },
);

test('the expiry is recorded only if the certificate was read', async () => {
  const certificate = await createCertificate(['shop.test'], { validDays: 12 });
  const { socket } = await verify(certificate, 'shop.test', checkServerIdentity, readCheaply);
  const days = ((certificateExpiry(socket)?.getTime() ?? 0) - Date.now()) / 86_400_000;
  expect(days).toBeGreaterThan(11.9);
  expect(days).toBeLessThan(12.1);
  expect(certificateExpiry((await verify(certificate, 'shop.test', byNode)).socket)).toBeNull();
});

test('the error that refuses a certificate has its dates', async () => {
  const certificate = await createCertificate(['shop.test'], { startsInDays: -9, validDays: -2 });
  server.setSecureContext(certificate);
  const { port } = server.address() as AddressInfo;
  const socket = tls.connect({ host: '127.0.0.1', port, ca: certificate.ca });
  readCheaply(socket);
  const [error] = await failureOf(socket);
  const { valid_from: from = '', valid_to: to = '' } =
    (error as { cert?: Partial<PeerCertificate> }).cert ?? {};
  expect(Math.round((Date.now() - Date.parse(from)) / 86_400_000)).toBe(9);
  expect(Math.round((Date.now() - Date.parse(to)) / 86_400_000)).toBe(2);
});
