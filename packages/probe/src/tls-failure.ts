import type { TLSSocket } from 'node:tls';
import type { Route } from '@tocsin/egress/connection';
import type { HopRequest } from './hop-request.ts';

/**
 * Adds `hadCertificate` to an error if the server has sent its certificate, and `offeredCertificate` if the check has one. OpenSSL reports
 * missing client certificates and a lack of common ciphers alike, but servers notice the latter earlier.
 */
export function markHandshakeErrors(socket: TLSSocket, offeredCertificate: boolean): void {
  // With TLS 1.3, a server refuses the client's certificate after the handshake. This listener must run before that of the request.
  if (offeredCertificate)
    socket.prependListener('error', (error) => Object.assign(error, { offeredCertificate }));
  const destroy = socket.destroy.bind(socket);
  // By the time the socket emits the error, it has forgotten the certificate.
  socket.destroy = (error) => {
    if (error !== undefined && socket.getPeerX509Certificate() !== undefined)
      Object.assign(error, { hadCertificate: true });
    return destroy(error);
  };
}

/** Returns a note for an error description if the server closed a connection with a client certificate, or empty text. */
export function noteOnCertificate(route: Route | null, error: unknown): string {
  const isClosed = (error as NodeJS.ErrnoException | null)?.code === 'ECONNRESET';
  return isClosed && route?.tls.certificate !== undefined
    ? '; the server may refuse the client certificate'
    : '';
}

/** Returns a note for an error description if the `Host` header suggests another name than TLS uses, or empty text. */
export function noteOnHostHeader({ url, headers }: HopRequest, error: unknown): string {
  if ((error as NodeJS.ErrnoException | null)?.code !== 'ERR_TLS_CERT_ALTNAME_INVALID') return '';
  const hasOther = Object.entries(headers ?? {}).some(
    ([name, value]) => name.toLowerCase() === 'host' && value !== url.host,
  );
  return hasOther ? '; the Host header does not change the name in TLS' : '';
}
