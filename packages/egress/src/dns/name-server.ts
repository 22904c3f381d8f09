import dns from 'node:dns';
import fs from 'node:fs';
import { devNull } from 'node:os';
import type { Family } from './system-config.ts';

/** The time-out of c-ares for a repeated query. c-ares does not accept longer ones. */
const PATIENT_MS = 5_000;
/** After more responses, a resolver adapts its time-out to them. */
const MAX_PATIENT_RESPONSES = 2;
/** A resolver for repeated queries is replaced after this time, because the system's name servers may have changed. */
const MAX_PATIENT_AGE_MS = 5_000;

/**
 * First queries are spread over this many sockets. While the event loop is busy, responses wait in the receive buffers of the sockets, and
 * Linux drops those that do not fit: by default, a buffer has room for about 250.
 */
const SOCKETS = 16;

interface PatientResolver {
  readonly resolver: dns.Resolver;
  readonly createdAt: number;
  responses: number;
}

type OnResponse = (error: NodeJS.ErrnoException | null, addresses: string[]) => void;

interface NameServer {
  readonly address: string | null;
  /** Whether the server has not responded for longer than a response may take. */
  isSilent(): boolean;
  /** Replaces the sockets, and with them the source ports. */
  renew(): void;
  query(name: string, family: Family, patiently: boolean, onResponse: OnResponse): void;
}

/**
 * One name server. It has resolvers of its own, because c-ares returns the failure of one server as the result instead of querying the
 * next. c-ares also shortens its time-out to a multiple of a server's usual response time, and drops later responses. So a query is
 * repeated on a resolver that has not yet seen enough responses to do so.
 */
function createNameServer(address: string | null, respondWithinMs: number, now: () => number): NameServer {
  const createResolver = (timeout: number): dns.Resolver => {
    const resolver = new dns.Resolver({ timeout, tries: 1 });
    if (address !== null) resolver.setServers([address]);
    return resolver;
  };
  let quick: dns.Resolver[] = [];
  let queries = 0;
  let patient: PatientResolver | null = null;
  /** When the first query since the server's last response was sent; null: none has been sent since. */
  let silentSince: number | null = null;

  const quickResolver = (): dns.Resolver => {
    queries += 1;
    return (quick[queries % SOCKETS] ??= createResolver(respondWithinMs));
  };
  const patientResolver = (): PatientResolver => {
    const createdAt = now();
    const isAdapted = patient === null || patient.responses >= MAX_PATIENT_RESPONSES;
    if (patient !== null && !isAdapted && createdAt - patient.createdAt < MAX_PATIENT_AGE_MS) return patient;
    return (patient = { resolver: createResolver(PATIENT_MS), createdAt, responses: 0 });
  };
  return {
    address,
    isSilent: () => silentSince !== null && now() - silentSince > respondWithinMs,
    renew: () => {
      quick = [];
    },
    query: (name, family, patiently, onResponse) => {
      silentSince ??= now();
      const repeated = patiently ? patientResolver() : null;
      const resolver = repeated?.resolver ?? quickResolver();
      const done: OnResponse = (error, addresses) => {
        if (error === null || isFromServer(error)) {
          silentSince = null;
          if (repeated !== null) repeated.responses += 1;
        }
        onResponse(error?.code === dns.CONNREFUSED ? (descriptorError() ?? error) : error, addresses);
      };
      if (family === 4) resolver.resolve4(name, done);
      else resolver.resolve6(name, done);
    },
  };
}

export interface NameServers {
  readonly respondWithinMs: number;
  readonly count: number;
  /** In the configured order, but silent servers last. */
  inOrder(): readonly NameServer[];
  /** The servers at these addresses. Silent ones get a query for this name, to see whether they respond again. */
  renewed(addresses: readonly (string | null)[], name: string): NameServers;
}

/** @param known servers that are kept if they have one of the addresses */
export function createNameServers(
  addresses: readonly (string | null)[],
  respondWithinMs: number,
  now: () => number,
  known: readonly NameServer[] = [],
): NameServers {
  const servers = addresses.map(
    (address) =>
      known.find((one) => one.address === address) ?? createNameServer(address, respondWithinMs, now),
  );
  return {
    respondWithinMs,
    count: servers.length,
    inOrder: () =>
      servers.length === 1 || !servers.some((one) => one.isSilent())
        ? servers
        : servers.toSorted((one, other) => Number(one.isSilent()) - Number(other.isSilent())),
    renewed: (addresses, name) => {
      const renewed = createNameServers(addresses, respondWithinMs, now, servers);
      for (const server of renewed.inOrder()) {
        server.renew();
        if (renewed.count > 1 && server.isSilent()) server.query(name, 4, false, () => undefined);
      }
      return renewed;
    },
  };
}

/** Why this process cannot open a socket, which c-ares reports as a refused connection. Null: it can. */
function descriptorError(): NodeJS.ErrnoException | null {
  try {
    fs.closeSync(fs.openSync(devNull, 'r'));
    return null;
  } catch (cause) {
    const error = cause as NodeJS.ErrnoException;
    return error.code === 'EMFILE' || error.code === 'ENFILE' ? error : null;
  }
}

function isFromServer({ code }: NodeJS.ErrnoException): boolean {
  return code !== dns.TIMEOUT && code !== dns.CONNREFUSED && code !== dns.CANCELLED;
}
