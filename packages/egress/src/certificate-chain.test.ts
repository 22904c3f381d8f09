import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import tls from 'node:tls';
import { afterAll, expect, test } from '@jest/globals';
import { createCertificate, type CertificateOptions } from '@tocsin/embedded/certificates';
import { CertificateChains } from './certificate-chain.ts';
import { certificateExpiry, checkServerIdentity, readCertificateCheaply } from './connection.ts';

const server = tls.createServer((socket) => socket.end());
server.listen(0, '127.0.0.1');
await once(server, 'listening');
afterAll(() => void server.close());

test.each<[string, CertificateOptions, number]>([
  ['of the leaf, which the root signs', { validDays: 20 }, 20],
  ['of the leaf', { validDays: 20, intermediateDays: 90 }, 20],
  ['of the intermediate certificate', { validDays: 90, intermediateDays: 20 }, 20],
  [
    'of the leaf, although an old root above the trusted one has expired',
    { validDays: 20, crossSignedDays: -5 },
    20,
  ],
  [
    'of the intermediate certificate, although an old root above the trusted one has expired',
    { validDays: 90, intermediateDays: 40, crossSignedDays: -5 },
    40,
  ],
  [
    'of the leaf, although the server also sends an intermediate certificate that has expired',
    { validDays: 20, intermediateDays: 90, olderIntermediateDays: -5 },
    20,
  ],
])('the expiry is that %s', async (_name, options, days) => {
  const certificate = await createCertificate(['shop.test'], options);
  server.setSecureContext(certificate);
  const chains = new CertificateChains([certificate.ca]);
  const { port } = server.address() as AddressInfo;
  for (let count = 1; count <= 2; count += 1) {
    const { ca } = certificate;
    const socket = tls.connect({ port, host: '127.0.0.1', servername: 'shop.test', ca, checkServerIdentity });
    readCertificateCheaply(socket, chains);
    await once(socket, 'secureConnect');
    socket.destroy();
    const expiry = certificateExpiry(socket)?.getTime() ?? 0;
    expect((expiry - Date.now()) / 86_400_000).toBeCloseTo(days, 1);
  }
});
