import http from 'node:http';
import https from 'node:https';
import net, { isIP } from 'node:net';
import type { Duplex } from 'node:stream';
import tls, { type SecureContext } from 'node:tls';
import type { AddressPolicy } from './address-policy.ts';
import type { LookupOwner, OwnedLookup } from './fair-lookup.ts';
import { blockedError, createGuardedLookup } from './guarded-lookup.ts';
import { checkServerIdentity, readCertificateCheaply } from './peer-certificate.ts';

type OnCreate = (error: Error | null, stream: Duplex) => void;

/** What both agents need to open a connection. */
export interface Guard {
  readonly policy: AddressPolicy;
  readonly lookup: OwnedLookup;
}

interface Destination {
  readonly host: string;
  readonly port: number;
}

/** How long one address of a name may take to connect before the next is tried; Node's 250 ms is less than some round trips. */
const ADDRESS_ATTEMPT_MS = 500;
const HTTP_ALPN = ['http/1.1'];

/**
 * An `http.Agent` that opens a new connection for each request, and only to addresses the policy allows (design §6).
 * It looks names up on behalf of one owner. Of a request's connection options host and port count; `lookup`, `family`, `socketPath`
 * and the like are ignored, so that no caller can lead around the guard.
 */
export class GuardedHttpAgent extends http.Agent {
  readonly #guard: Guard;
  readonly #owner: LookupOwner;

  constructor(guard: Guard, owner: LookupOwner) {
    super({ keepAlive: false });
    this.#guard = guard;
    this.#owner = owner;
  }

  override createConnection(options: http.ClientRequestArgs, onCreate?: OnCreate): Duplex | undefined {
    const destination = destinationOf(options, this.#guard.policy);
    if (destination instanceof Error) return refuse(destination, onCreate);
    return net.connect({
      host: destination.host,
      port: destination.port,
      lookup: createGuardedLookup(this.#guard.lookup, this.#guard.policy, this.#owner),
      noDelay: true,
      autoSelectFamily: true,
      autoSelectFamilyAttemptTimeout: ADDRESS_ATTEMPT_MS,
    });
  }
}

/**
 * The same for https. One secure context serves every connection, sessions are not resumed, the name to verify and to
 * send (SNI) is the host of the URL, and certificates are always verified: per-request TLS options are ignored.
 */
export class GuardedHttpsAgent extends https.Agent {
  readonly #guard: Guard;
  readonly #owner: LookupOwner;
  readonly #secureContext: SecureContext;

  constructor(guard: Guard, owner: LookupOwner, secureContext: SecureContext) {
    super({ keepAlive: false, maxCachedSessions: 0 });
    this.#guard = guard;
    this.#owner = owner;
    this.#secureContext = secureContext;
  }

  override createConnection(options: https.RequestOptions, onCreate?: OnCreate): Duplex | undefined {
    const destination = destinationOf(options, this.#guard.policy);
    if (destination instanceof Error) return refuse(destination, onCreate);
    const connection: tls.ConnectionOptions & net.TcpNetConnectOpts = {
      host: destination.host,
      port: destination.port,
      lookup: createGuardedLookup(this.#guard.lookup, this.#guard.policy, this.#owner),
      noDelay: true,
      autoSelectFamily: true,
      autoSelectFamilyAttemptTimeout: ADDRESS_ATTEMPT_MS,
      secureContext: this.#secureContext,
      servername: serverNameOf(destination.host),
      ALPNProtocols: HTTP_ALPN,
      // Said outright: it would otherwise follow NODE_TLS_REJECT_UNAUTHORIZED.
      rejectUnauthorized: true,
      checkServerIdentity,
    };
    const socket = tls.connect(connection);
    readCertificateCheaply(socket);
    return socket;
  }
}

/** `lookup` hooks are not called for IP literals, so those are judged here. */
function destinationOf(options: http.ClientRequestArgs, policy: AddressPolicy): Destination | Error {
  const host = withoutBrackets(options.host ?? 'localhost');
  if (isIP(host) !== 0) {
    const reason = policy.blockedReason(host);
    if (reason !== null) return blockedError(host, null, reason);
  }
  return { host, port: Number(options.port) };
}

function withoutBrackets(host: string): string {
  return host.startsWith('[') && host.endsWith(']') ? host.slice(1, -1) : host;
}

/** RFC 6066: no addresses and no trailing dot in the server name. */
function serverNameOf(host: string): string {
  if (isIP(host) !== 0) return '';
  return host.endsWith('.') ? host.slice(0, -1) : host;
}

function refuse(error: Error, onCreate: OnCreate | undefined): undefined {
  if (onCreate === undefined) throw error;
  // Node passes no stream along with an error; its type does not say so.
  (onCreate as (error: Error) => void)(error);
  return undefined;
}
