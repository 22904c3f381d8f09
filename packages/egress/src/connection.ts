import type { X509Certificate } from 'node:crypto';
import net, { isIP, type Socket } from 'node:net';
import tls, { type DetailedPeerCertificate, type PeerCertificate, type TLSSocket } from 'node:tls';
import type { TlsSettings } from '@tocsin/contracts/monitors/connection';
import type { AddressPolicy } from './address-policy.ts';
import type { CertificateChains } from './certificate-chain.ts';
import type { LookupOwner, OwnedLookup } from './dns/fair-lookup.ts';
import { lookupError } from './dns/name-lookup.ts';
import { EgressBlockedError, lookupAllowed } from './guarded-lookup.ts';
import { raceConnections } from './race-connections.ts';
import type { SecureContexts, Trust } from './secure-contexts.ts';

export type Origin = Pick<URL, 'protocol' | 'hostname' | 'port'>;

/** How a connection differs from the usual one to its origin. */
export interface Route {
  /** IP version of the connection, or null for any. */
  readonly family: 4 | 6 | null;
  /** Where to connect in place of the origin, or null. An empty port means the origin's. */
  readonly destination: Pick<URL, 'hostname' | 'port'> | null;
  readonly tls: TlsSettings;
}

/**
 * For the `createConnection` option of a request. Requests use no agent, which takes 5 % less CPU time. An exception becomes the request's
 * `error` event. The socket may still be connecting, or fail at once. A request that is destroyed before it has a socket emits no event until
 * it gets one.
 * @param onCreated never gets an error
 */
export type CreateConnection = (
  options: unknown,
  onCreated: (error: never, socket: Socket) => void,
) => Socket | undefined;

interface Guard {
  readonly policy: AddressPolicy;
  readonly lookup: OwnedLookup;
  readonly secureContexts: SecureContexts;
}

interface Connection {
  readonly guard: Guard;
  readonly owner: LookupOwner;
  /** Called once, when an address responds. Called at once if there is at most one address. */
  readonly onCreated: (socket: Socket) => void;
  readonly onResolved?: (() => void) | undefined;
  readonly route?: Route | null | undefined;
}

/** Opens a connection without TLS session resumption. @throws EgressBlockedError for a blocked address literal, or an error of TLS settings */
export function openConnection(
  origin: Origin,
  { guard, owner, onCreated, onResolved, route = null }: Connection,
): void {
  const { family = null, destination = null } = route ?? {};
  const host = withoutBrackets((destination ?? origin).hostname);
  const isSecure = origin.protocol === 'https:';
  const port = Number(destination?.port) || portOf(origin);
  const destinationAt = (address: string) => ({ host: address, port, noDelay: true });
  const connect = (address: string): Socket => net.connect(destinationAt(address));
  // An exception after the lookup would end the process.
  const trust = isSecure ? guard.secureContexts.of(route?.tls) : null;
  const open = (address: string): Socket =>
    trust === null ? connect(address) : connectSecurely(origin, trust, destinationAt(address), route);
  if (isIP(host) !== 0) {
    const reason = guard.policy.blockedReason(host);
    if (reason !== null) throw new EgressBlockedError(host, null, reason);
    if (family !== null && isIP(host) !== family) return onCreated(failedConnection(noAddress(host, family)));
    return onCreated(open(host));
  }
  lookupAllowed(host, family, guard, owner, (addresses) => {
    onResolved?.();
    if (addresses instanceof Error) return onCreated(failedConnection(addresses));
    const [first] = addresses;
    if (first !== undefined && addresses.length === 1) return onCreated(open(first.address));
    raceConnections({ addresses, port, deadline: owner.deadline, connect }, (error, socket) => {
      if (socket === null) return onCreated(failedConnection(error));
      onCreated(trust === null ? socket : connectSecurely(origin, trust, { socket }, route));
    });
  });
}

export function portOf({ protocol, port }: Pick<Origin, 'protocol' | 'port'>): number {
  if (port !== '') return Number(port);
  return protocol === 'https:' ? 443 : 80;
}

function connectSecurely(
  origin: Origin,
  { context, chains }: Trust,
  destination: tls.ConnectionOptions,
  route: Route | null,
): TLSSocket {
  const { serverName, verify = true } = route?.tls ?? {};
  const host = serverName ?? withoutBrackets(origin.hostname);
  const socket = tls.connect({
    ...destination,
    secureContext: context,
    // RFC 6066 allows neither addresses nor a trailing dot.
    servername: isIP(host) === 0 ? host.replace(/\.$/, '') : '',
    ALPNProtocols: ['http/1.1'],
    // NODE_TLS_REJECT_UNAUTHORIZED would change the default.
    rejectUnauthorized: verify,
    // Without a server name, Node would verify the address of the destination.
    checkServerIdentity:
      route === null ? checkServerIdentity : (_host, certificate) => checkServerIdentity(host, certificate),
  });
  readCertificateCheaply(socket, chains);
  // Node reads the certificate only after a verification that succeeded.
  if (!verify) socket.on('secureConnect', () => socket.getPeerCertificate());
  return socket;
}

/** Creates a socket that fails once the request listens to it, as after a failed lookup. */
function failedConnection(error: Error | null): Socket {
  return net.connect({
    host: 'failed.invalid',
    port: 1,
    lookup: (_host, _options, callback) => process.nextTick(callback, error, []),
  });
}

/** Returns the error for an address of the other family, which equals that of a name without addresses of this one. */
function noAddress(host: string, family: 4 | 6): Error {
  return Object.assign(lookupError('ENOTFOUND', host), { family });
}

export function withoutBrackets(host: string): string {
  return host.replace(/^\[(.*)\]$/, '$1');
}

const expiries = new WeakMap<TLSSocket, Date>();

/** Returns when the first certificate of the chain expires, without its root. Null if it was refused or has no readable date. */
export function certificateExpiry(socket: TLSSocket): Date | null {
  return expiries.get(socket) ?? null;
}

/** Reads only the names and dates of a certificate. Reading all fields takes a quarter of an HTTPS check's CPU time. */
export function readCertificateCheaply(socket: TLSSocket, chains: CertificateChains): void {
  let certificate: X509Certificate | undefined;
  // This runs once, because in Node 20 the call removes the certificate from the chain. It runs before the verification, after which a
  // refused connection has no certificate.
  socket.prependListener('secure', () => (certificate = socket.getPeerX509Certificate()));
  socket.on('error', (error: Error & { cert?: unknown }) => {
    if (certificate === undefined) return;
    error.cert ??= { valid_from: certificate.validFrom, valid_to: certificate.validTo };
  });
  // Node passes the result to `checkServerIdentity`, which reads no other field.
  socket.getPeerCertificate = () => {
    if (certificate === undefined) return {} as DetailedPeerCertificate;
    const expiry = chains.expiryOf(certificate);
    if (expiry !== null) expiries.set(socket, expiry);
    return { subjectaltname: certificate.subjectAltName } as DetailedPeerCertificate;
  };
}

/** Checks a certificate as RFC 9525 requires, ignoring the common name. @returns undefined if it is valid */
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
