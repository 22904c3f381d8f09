import dns from 'node:dns';
import fs from 'node:fs';
import { devNull } from 'node:os';
import type { Family } from './system-config.ts';

/** Longest timeout that c-ares accepts. */
const PATIENT_MS = 5_000;
/** After more responses, a resolver adapts its timeout. */
const MAX_PATIENT_RESPONSES = 2;
/** Older resolvers are replaced, because the system's name servers may have changed. */
const MAX_PATIENT_AGE_MS = 5_000;

/** While the event loop is busy, Linux drops responses beyond the receive buffer of a socket, which holds about 250. */
const SOCKETS = 16;

interface PatientResolver {
  readonly resolver: dns.Resolver;
  readonly createdAt: number;
  responses: number;
}

type OnResponse = (error: NodeJS.ErrnoException | null, addresses: string[]) => void;

type NameServer = ReturnType<typeof createNameServer>;

/**
 * One name server with its own resolvers, because c-ares returns the failure of one server instead of querying the next. c-ares also adapts
 * its timeout and drops later responses, so repeated queries use a resolver that has not seen enough responses to adapt.
 */
function createNameServer(address: string | null, respondWithinMs: number, now: () => number) {
  const createResolver = (timeout: number): dns.Resolver => {
    const resolver = new dns.Resolver({ timeout, tries: 1 });
    if (address !== null) resolver.setServers([address]);
    return resolver;
  };
  let quick: dns.Resolver[] = [];
  let queries = 0;
  let patient: PatientResolver | null = null;
  /** When the first unanswered query was sent, or null. */
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
    /** Replaces the sockets and their source ports. */
    renew: (): void => {
      quick = [];
    },
    query: (name: string, family: Family, patiently: boolean, onResponse: OnResponse): void => {
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
