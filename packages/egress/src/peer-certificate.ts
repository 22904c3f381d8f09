import tls, { type DetailedPeerCertificate, type PeerCertificate, type TLSSocket } from 'node:tls';

const expiries = new WeakMap<TLSSocket, Date>();

/** When the certificate of the other side ends; null where it was not accepted, or has no readable date. */
export function certificateExpiry(socket: TLSSocket): Date | null {
  return expiries.get(socket) ?? null;
}

/**
 * Keeps the expiry of a connection's certificate, and spares Node a quarter of what a check over https costs: to compare names,
 * it has every field of every certificate of the chain written out. Of the names only the alternative ones are read.
 * @param socket not yet connected
 */
export function readCertificateCheaply(socket: TLSSocket): void {
  // What Node hands to `checkServerIdentity`, which reads no other field of it.
  socket.getPeerCertificate = () => {
    // Once only: in Node 20 the call takes the certificate off the chain.
    const certificate = socket.getPeerX509Certificate();
    if (certificate === undefined) return {} as DetailedPeerCertificate;
    const expiry = Date.parse(certificate.validTo);
    if (!Number.isNaN(expiry)) expiries.set(socket, new Date(expiry));
    return { subjectaltname: certificate.subjectAltName } as DetailedPeerCertificate;
  };
}

/**
 * Whether a certificate is for a host by RFC 9525: only its subject alternative names count. Node's own check falls back to the
 * common name of the subject.
 * @returns the error to end the connection with; undefined where the certificate is for the host
 */
export function checkServerIdentity(
  host: string,
  { subjectaltname }: Pick<PeerCertificate, 'subjectaltname'>,
): Error | undefined {
  if (subjectaltname === undefined) return noAlternativeName();
  // Without a subject there is nothing to fall back to.
  return tls.checkServerIdentity(host, { subjectaltname } as PeerCertificate);
}

function noAlternativeName(): Error {
  const error = new Error(
    'the certificate has no subject alternative name, and its common name does not count (RFC 9525)',
  );
  return Object.assign(error, { code: 'ERR_TLS_CERT_ALTNAME_INVALID' });
}
