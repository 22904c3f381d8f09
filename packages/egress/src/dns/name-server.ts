import dns from 'node:dns';
import fs from 'node:fs';
import { devNull } from 'node:os';
import type { Family } from './system-config.ts';

/** Longest timeout that c-ares accepts. */
const PATIENT_MS = 5_000;
/** While more repeated queries are unanswered, new ones share sockets. */
const MAX_PATIENT_SOCKETS = 2_000;
/** A lookup repeats its query later than this, so it does not use a shared socket twice. */
const MAX_SHARED_AGE_MS = 25;

/** While the event loop is busy, Linux drops responses beyond the receive buffer of a socket, which holds about 250. */
const SOCKETS = 16;
/** A socket that is silent for longer gets no more queries. */
const MAX_SILENCE_MS = 100;
/** A response to a first query counts for this many times `respondWithinMs`. */
const FIRST_PATIENCE = 4;

interface QuickResolver {
  readonly resolver: dns.Resolver;
  /** When the first unanswered query was sent, or null. */
  silentSince: number | null;
}

type OnResponse = (error: NodeJS.ErrnoException | null, addresses: string[]) => void;

type NameServer = ReturnType<typeof createNameServer>;

/**
 * One name server with its own resolvers, because c-ares returns the failure of one server instead of querying the next. c-ares also adapts
 * its timeout and drops later responses, so repeated queries use a new resolver. Each resolver has one socket, and a load balancer may send
 * all of its packets to the same dead server. A resolver without a response is therefore replaced soon.
 */
function createNameServer(address: string | null, respondWithinMs: number, now: () => number) {
  const createResolver = (timeout: number): dns.Resolver => {
    const resolver = new dns.Resolver({ timeout, tries: 1 });
    if (address !== null) resolver.setServers([address]);
    return resolver;
  };
  let quick: QuickResolver[] = [];
  let queries = 0;
  let patient: { readonly resolver: dns.Resolver; readonly createdAt: number } | null = null;
  /** Repeated queries without a response. */
  let repeating = 0;
  /** When the first unanswered query was sent, or null. */
  let silentSince: number | null = null;

  const quickResolver = (): QuickResolver => {
    queries += 1;
    const index = queries % SOCKETS;
    const current = quick[index];
    const askedAt = now();
    if (current !== undefined && askedAt - (current.silentSince ?? askedAt) <= MAX_SILENCE_MS) return current;
    return (quick[index] = { resolver: createResolver(FIRST_PATIENCE * respondWithinMs), silentSince: null });
  };
  const patientResolver = (): dns.Resolver => {
    const createdAt = now();
    const mayShare = repeating > MAX_PATIENT_SOCKETS;
    if (!mayShare || patient === null || createdAt - patient.createdAt > MAX_SHARED_AGE_MS)
      patient = { resolver: createResolver(PATIENT_MS), createdAt };
    return patient.resolver;
  };
  return {
    address,
    isSilent: () => silentSince !== null && now() - silentSince > respondWithinMs,
    /** Replaces the sockets and their source ports. */
    renew: (): void => {
      quick = [];
    },
    query: (name: string, family: Family, patiently: boolean, onResponse: OnResponse): void => {
      const sentAt = now();
      silentSince ??= sentAt;
      const first = patiently ? null : quickResolver();
      if (first === null) repeating += 1;
      else first.silentSince ??= sentAt;
      const resolver = first?.resolver ?? patientResolver();
      const done: OnResponse = (error, addresses) => {
        if (first === null) repeating -= 1;
        if (error === null || isFromServer(error)) {
          silentSince = null;
          if (first !== null) first.silentSince = null;
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
  /** Returns the servers in the configured order, silent ones last. */
  inOrder(): readonly NameServer[];
  /** Returns the servers at these addresses. Silent ones get a query for this name, to notice when they respond again. */
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

/** Returns why this process cannot open a socket, or null if it can. c-ares reports this failure as a refused connection. */
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
