import type { TLSSocket } from 'node:tls';
import type { HopRequest } from './hop-request.ts';

/**
 * Adds `hadCertificate` to an error if the server has sent its certificate. OpenSSL reports missing client certificates and a lack of common
 * ciphers alike, but servers notice the latter earlier.
 */
export function markHandshakeErrors(socket: TLSSocket): void {
  const destroy = socket.destroy.bind(socket);
  // By the time the socket emits the error, it has forgotten the certificate.
  socket.destroy = (error) => {
    if (error !== undefined && socket.getPeerX509Certificate() !== undefined)
      Object.assign(error, { hadCertificate: true });
    return destroy(error);
  };
}

/** Returns a note for an error description if the `Host` header suggests another name than TLS uses, or empty text. */
export function noteOnHostHeader({ url, headers }: HopRequest, error: unknown): string {
  if ((error as NodeJS.ErrnoException | null)?.code !== 'ERR_TLS_CERT_ALTNAME_INVALID') return '';
  const hasOther = Object.entries(headers ?? {}).some(
    ([name, value]) => name.toLowerCase() === 'host' && value !== url.host,
  );
  return hasOther ? '; the Host header does not change the name in TLS' : '';
}
