import type { X509Certificate } from 'node:crypto';
import { isIP } from 'node:net';
import type { DetailedPeerCertificate, PeerCertificate, TLSSocket } from 'node:tls';

const expiries = new WeakMap<TLSSocket, Date>();

/** When the certificate of the other side ends; null where it was not accepted, or has no readable date. */
export function certificateExpiry(socket: TLSSocket): Date | null {
  return expiries.get(socket) ?? null;
}

/**
 * Keeps the expiry of a connection's certificate, and spares Node a quarter of what a check over https costs: to compare names,
 * it has every field of every certificate of the chain written out. What is compared, and by whom, stays the same.
 * @param socket not yet connected
 * @param host that the certificate has to be for
 */
export function readCertificateCheaply(socket: TLSSocket, host: string): void {
  // What Node hands to `tls.checkServerIdentity`, which reads no other fields of it.
  socket.getPeerCertificate = () => {
    // Once only: in Node 20 the call takes the certificate off the chain.
    const certificate = socket.getPeerX509Certificate();
    if (certificate === undefined) return {} as DetailedPeerCertificate;
    const expiry = Date.parse(certificate.validTo);
    if (!Number.isNaN(expiry)) expiries.set(socket, new Date(expiry));
    return namesOf(certificate, host) as DetailedPeerCertificate;
  };
}

/** The subject counts only for a host name, and only where no alternative name is one. */
function namesOf(certificate: X509Certificate, host: string): Partial<PeerCertificate> {
  const names = certificate.subjectAltName ?? '';
  const needsSubject = isIP(host) === 0 && !/(?:^|, )DNS:/.test(names);
  return needsSubject ? certificate.toLegacyObject() : { subjectaltname: names };
}
