import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import tls from 'node:tls';
import { describe, expect, it } from '@jest/globals';
import { createCertificate } from './certificates.ts';
import type { Certificate } from './certificates.ts';

/** One TLS handshake with a server that presents this certificate; rejects as the client does. */
async function handshake(certificate: Certificate, ca: string, servername?: string): Promise<void> {
  const server = tls.createServer({ key: certificate.key, cert: certificate.cert }, (socket) => socket.end());
  server.on('tlsClientError', () => {});
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const socket = tls.connect({ host: '127.0.0.1', port, ca, ...(servername && { servername }) });
  try {
    await once(socket, 'secureConnect');
  } finally {
    socket.destroy();
    server.close();
  }
}

describe('createCertificate', () => {
  it('is trusted for its names and its addresses', async () => {
    const certificate = await createCertificate(['hooks.example.test', '127.0.0.1']);
    await handshake(certificate, certificate.ca, 'hooks.example.test');
    await handshake(certificate, certificate.ca);
  });

  it('is rejected for another name, by another CA, and after it expires', async () => {
    const certificate = await createCertificate(['hooks.example.test']);
    const other = await createCertificate(['hooks.example.test']);
    const expired = await createCertificate(['hooks.example.test'], { validDays: -1 });
    await expect(handshake(certificate, certificate.ca, 'elsewhere.example.test')).rejects.toMatchObject({
      code: 'ERR_TLS_CERT_ALTNAME_INVALID',
    });
    await expect(handshake(certificate, other.ca, 'hooks.example.test')).rejects.toThrow();
    await expect(handshake(expired, expired.ca, 'hooks.example.test')).rejects.toMatchObject({
      code: 'CERT_HAS_EXPIRED',
    });
  });
});
