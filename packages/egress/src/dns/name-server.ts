import dns from 'node:dns';
import type { Family } from './system-config.ts';

/** The time-out of c-ares for a repeated query. c-ares does not accept longer ones. */
const PATIENT_MS = 5_000;
/** After more responses, a resolver adapts its time-out to them. */
const MAX_PATIENT_RESPONSES = 2;
/** A resolver for repeated queries is replaced after this time, because the system's name servers may have changed. */
const MAX_PATIENT_AGE_MS = 5_000;

interface PatientResolver {
  readonly resolver: dns.Resolver;
  readonly createdAt: number;
  responses: number;
}

type OnResponse = (error: NodeJS.ErrnoException | null, addresses: string[]) => void;

/**
 * One name server. It has resolvers of its own, because c-ares returns the failure of one server as the result instead of asking the
 * next. c-ares also shortens its time-out to a multiple of a server's usual response time, and drops later responses. So a query is
 * repeated on a resolver that has not yet seen enough responses to do so.
 */
class NameServer {
  readonly address: string | null;
  readonly #respondsWithinMs: number;
  readonly #now: () => number;
  #quick: dns.Resolver;
  #patient: PatientResolver | null = null;
  /** When the first query since the server's last response was sent; null: none has been sent since. */
  #silentSince: number | null = null;

  constructor(address: string | null, respondsWithinMs: number, now: () => number) {
    this.address = address;
    this.#respondsWithinMs = respondsWithinMs;
    this.#now = now;
    this.#quick = this.#createResolver(respondsWithinMs);
  }

  /** Whether the server has not responded for longer than a response may take. */
  get isSilent(): boolean {
    return this.#silentSince !== null && this.#now() - this.#silentSince > this.#respondsWithinMs;
  }

  /** Replaces the socket, and with it the source port. */
  renew(): void {
    this.#quick = this.#createResolver(this.#respondsWithinMs);
  }

  query(name: string, family: Family, patiently: boolean, onResponse: OnResponse): void {
    this.#silentSince ??= this.#now();
    const patient = patiently ? this.#patientResolver() : null;
    const resolver = patient?.resolver ?? this.#quick;
    const done: OnResponse = (error, addresses) => {
      if (error === null || isFromServer(error)) {
        this.#silentSince = null;
        if (patient !== null) patient.responses += 1;
      }
      onResponse(error, addresses);
    };
    if (family === 4) resolver.resolve4(name, done);
    else resolver.resolve6(name, done);
  }

  #patientResolver(): PatientResolver {
    const createdAt = this.#now();
    const old = this.#patient;
    const isUsable = old !== null && old.responses < MAX_PATIENT_RESPONSES;
    if (isUsable && createdAt - old.createdAt < MAX_PATIENT_AGE_MS) return old;
    return (this.#patient = { resolver: this.#createResolver(PATIENT_MS), createdAt, responses: 0 });
  }

  #createResolver(timeout: number): dns.Resolver {
    const resolver = new dns.Resolver({ timeout, tries: 1 });
    if (this.address !== null) resolver.setServers([this.address]);
    return resolver;
  }
}

export class NameServers {
  readonly respondWithinMs: number;
  readonly #servers: readonly NameServer[];
  readonly #now: () => number;

  constructor(
    addresses: readonly (string | null)[],
    respondWithinMs: number,
    now: () => number,
    known: readonly NameServer[] = [],
  ) {
    this.respondWithinMs = respondWithinMs;
    this.#now = now;
    this.#servers = addresses.map(
      (address) =>
        known.find((one) => one.address === address) ?? new NameServer(address, respondWithinMs, now),
    );
  }

  get count(): number {
    return this.#servers.length;
  }

  /** In the configured order, but silent servers last. */
  inOrder(): readonly NameServer[] {
    if (this.#servers.length === 1 || !this.#servers.some((one) => one.isSilent)) return this.#servers;
    return this.#servers.toSorted((one, other) => Number(one.isSilent) - Number(other.isSilent));
  }

  /** The servers at these addresses. Silent ones get a query for this name, to see whether they respond again. */
  renewed(addresses: readonly (string | null)[], name: string): NameServers {
    const renewed = new NameServers(addresses, this.respondWithinMs, this.#now, this.#servers);
    for (const server of renewed.#servers) {
      server.renew();
      if (renewed.count > 1 && server.isSilent) server.query(name, 4, false, () => undefined);
    }
    return renewed;
  }
}

function isFromServer({ code }: NodeJS.ErrnoException): boolean {
  return code !== dns.TIMEOUT && code !== dns.CONNREFUSED && code !== dns.CANCELLED;
}
