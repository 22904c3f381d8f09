import type { X509Certificate } from 'node:crypto';
import net, { isIP, type Socket } from 'node:net';
import tls, {
  type DetailedPeerCertificate,
  type PeerCertificate,
  type SecureContext,
  type TLSSocket,
} from 'node:tls';
import type { AddressPolicy } from './address-policy.ts';
import type { LookupOwner, OwnedLookup } from './dns/fair-lookup.ts';
import { createGuardedLookup, EgressBlockedError } from './guarded-lookup.ts';

/** The target of a connection: an http or https URL. The port is empty for the default port. */
export type Origin = Pick<URL, 'protocol' | 'hostname' | 'port'>;

/** For `createConnection` of a request without an agent, which takes 5 % less CPU time. An exception becomes its `error` event. */
export type CreateConnection = () => Socket;

export interface Guard {
  readonly policy: AddressPolicy;
  readonly lookup: OwnedLookup;
  readonly secureContext: SecureContext;
}

/** How long to connect to one address of a name before the next is tried. Node's 250 ms is less than some round trips. */
const ADDRESS_ATTEMPT_MS = 500;

/** Opens a connection for an owner. TLS sessions are not resumed. @throws EgressBlockedError for a blocked address literal */
export function openConnection(origin: Origin, guard: Guard, owner: LookupOwner): Socket {
  const host = withoutBrackets(origin.hostname);
  // `lookup` is not called for literals.
  if (isIP(host) !== 0) {
    const reason = guard.policy.blockedReason(host);
    if (reason !== null) throw new EgressBlockedError(host, null, reason);
  }
  const isSecure = origin.protocol === 'https:';
  const destination: net.TcpNetConnectOpts = {
    host,
    port: origin.port === '' ? (isSecure ? 443 : 80) : Number(origin.port),
    lookup: createGuardedLookup(guard.lookup, guard.policy, owner),
    noDelay: true,
    autoSelectFamily: true,
    autoSelectFamilyAttemptTimeout: ADDRESS_ATTEMPT_MS,
  };
  if (!isSecure) return net.connect(destination);
  const socket = tls.connect({
    ...destination,
    secureContext: guard.secureContext,
    // RFC 6066: no addresses and no trailing dot in the server name.
    servername: isIP(host) === 0 ? host.replace(/\.$/, '') : '',
    ALPNProtocols: ['http/1.1'],
    // Explicit, because NODE_TLS_REJECT_UNAUTHORIZED changes the default.
    rejectUnauthorized: true,
    checkServerIdentity,
  });
  readCertificateCheaply(socket);
  return socket;
}

export function withoutBrackets(host: string): string {
  return host.replace(/^\[(.*)\]$/, '$1');
}

const expiries = new WeakMap<TLSSocket, Date>();

/** When the certificate of the server expires; null if it was not accepted or has no readable date. */
export function certificateExpiry(socket: TLSSocket): Date | null {
  return expiries.get(socket) ?? null;
}

/**
 * Reads only names and dates of the certificate. All fields, as by default, take a quarter of the CPU time of an HTTPS check. An error that
 * refuses the certificate gets its dates.
 */
export function readCertificateCheaply(socket: TLSSocket): void {
  let certificate: X509Certificate | undefined;
  // Called only once: in Node 20 the call removes the certificate from the chain. Emitted before Node verifies the certificate: afterwards
  // a refused connection has none.
  socket.prependListener('secure', () => (certificate = socket.getPeerX509Certificate()));
  socket.on('error', (error: Error & { cert?: unknown }) => {
    if (certificate === undefined) return;
    error.cert ??= { valid_from: certificate.validFrom, valid_to: certificate.validTo };
  });
  // Node passes the result to `checkServerIdentity`, which reads no other field.
  socket.getPeerCertificate = () => {
    if (certificate === undefined) return {} as DetailedPeerCertificate;
    const expiry = Date.parse(certificate.validTo);
    if (!Number.isNaN(expiry)) expiries.set(socket, new Date(expiry));
    return { subjectaltname: certificate.subjectAltName } as DetailedPeerCertificate;
  };
}

/** Checks a certificate by RFC 9525: only the subject alternative names count, not the common name. @returns undefined if it is valid */
export function checkServerIdentity(
  host: string,
  { subjectaltname }: Pick<PeerCertificate, 'subjectaltname'>,
): Error | undefined {
  // Without a subject, Node has no common name to fall back to.
  if (subjectaltname !== undefined)
    return tls.checkServerIdentity(host, { subjectaltname } as PeerCertificate);
  const problem =
    'certificate has no subject alternative name, and its common name does not count (RFC 9525)';
  return Object.assign(new Error(problem), { code: 'ERR_TLS_CERT_ALTNAME_INVALID' });
}
