import net, { isIP, type Socket } from 'node:net';
import tls, {
  type DetailedPeerCertificate,
  type PeerCertificate,
  type SecureContext,
  type TLSSocket,
} from 'node:tls';
import type { AddressPolicy } from './address-policy.ts';
import type { LookupOwner, OwnedLookup } from './dns/fair-lookup.ts';
import { blockedError, createGuardedLookup } from './guarded-lookup.ts';

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

/** Where a connection goes: an http or https URL, whose port is empty for the default port. */
export type Origin = Pick<URL, 'protocol' | 'hostname' | 'port'>;

/**
 * For `createConnection` of a request. Such a request needs no agent: Node then opens a connection for it alone, at a twentieth less CPU
 * time per check. What it throws is the request's `error` event.
 */
export type CreateConnection = () => Socket;

/** What every connection is opened with. */
export interface Guard {
  readonly policy: AddressPolicy;
  readonly lookup: OwnedLookup;
  readonly secureContext: SecureContext;
}

/** How long one address of a name may take to connect before the next is tried; Node's 250 ms is less than some round trips. */
const ADDRESS_ATTEMPT_MS = 500;
const HTTP_ALPN = ['http/1.1'];

/**
 * Opens a connection only to an address that the policy allows, and looks the name up on behalf of its owner. No option of the request
 * counts, so that no caller can lead around the guard. TLS sessions are not resumed, the name to verify and to send (SNI) is the host of
 * the URL, and certificates are always verified.
 * @throws EgressBlockedError for a blocked address literal
 */
export function openConnection(origin: Origin, guard: Guard, owner: LookupOwner): Socket {
  const host = withoutBrackets(origin.hostname);
  // `lookup` is not called for these.
  if (isIP(host) !== 0) {
    const reason = guard.policy.blockedReason(host);
    if (reason !== null) throw blockedError(host, null, reason);
  }
  const secure = origin.protocol === 'https:';
  const destination: net.TcpNetConnectOpts = {
    host,
    port: origin.port === '' ? defaultPort(secure) : Number(origin.port),
    lookup: createGuardedLookup(guard.lookup, guard.policy, owner),
    noDelay: true,
    autoSelectFamily: true,
    autoSelectFamilyAttemptTimeout: ADDRESS_ATTEMPT_MS,
  };
  return secure ? openTls(destination, host, guard.secureContext) : net.connect(destination);
}

function defaultPort(secure: boolean): number {
  return secure ? 443 : 80;
}

function openTls(destination: net.TcpNetConnectOpts, host: string, secureContext: SecureContext): Socket {
  const connection: tls.ConnectionOptions & net.TcpNetConnectOpts = {
    ...destination,
    secureContext,
    servername: serverNameOf(host),
    ALPNProtocols: HTTP_ALPN,
    // Said outright: it would otherwise follow NODE_TLS_REJECT_UNAUTHORIZED.
    rejectUnauthorized: true,
    checkServerIdentity,
  };
  const socket = tls.connect(connection);
  readCertificateCheaply(socket);
  return socket;
}

function withoutBrackets(host: string): string {
  return host.startsWith('[') && host.endsWith(']') ? host.slice(1, -1) : host;
}

/** RFC 6066: no addresses and no trailing dot in the server name. */
function serverNameOf(host: string): string {
  if (isIP(host) !== 0) return '';
  return host.endsWith('.') ? host.slice(0, -1) : host;
}
