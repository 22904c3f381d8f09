import type { LookupOptions } from 'node:dns';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { afterAll, afterEach, beforeEach, jest } from '@jest/globals';
import { until } from '@tocsin/embedded/testing/until';
import type { LookupEvents } from '../dns/name-lookup.ts';
import { createNameResolver, type NameResolverOptions } from '../dns/name-resolver.ts';
import { DnsServer } from './dns-server.ts';

/** A busy machine must not repeat queries, because tests count them. */
export const PATIENT_MS = 600_000;
const HOSTS = `
127.0.0.1 localhost
10.0.0.7  db.internal db   # the old one
10.0.0.8  db
fd00::7   DB
not-an-address broken
`;
const RESOLV_CONF = `
# search nothing.test
nameserver 192.0.2.1
search first.test second.test.
options edns0 ndots:2
`;
const BOTH: LookupOptions = { family: 0 };
export const NO_EVENTS: LookupEvents = {
  onResult: () => undefined,
  onRetry: () => undefined,
  onEnd: () => undefined,
};

/** Resolves to the addresses of the name, or to the code of the error. */
type Resolve = (name: string, given?: LookupOptions) => Promise<readonly string[] | string>;

/** Resolvers for one test file, with the files and the server that they use. */
export interface TestResolvers {
  /** Contains the files `hosts` and `resolv.conf`. */
  readonly folder: string;
  readonly server: DnsServer;
  /** Makes a resolver that reads these files and queries this server. */
  readonly resolver: (options?: NameResolverOptions) => Resolve;
  /** Clock of the resolvers, in milliseconds. */
  readonly clock: { now: number };
}

/** Resets the clock, the files and the server before each test. No lookup may be in progress after a test. */
export async function useTestResolvers(): Promise<TestResolvers> {
  const clock = { now: 0 };
  const folder = await mkdtemp(path.join(os.tmpdir(), 'names-'));
  const stops: (() => void)[] = [];
  const server = await DnsServer.start({
    'both.example.org': ['192.0.2.10', '2001:db8::10'],
    'four.example.org': ['192.0.2.4'],
    'broken.example.org': 'failure',
    'silent.example.org': 'silence',
    'half.example.org': 'no IPv6',
    'short.second.test': ['192.0.2.2'],
    'broken.first.test': 'failure',
    'broken.second.test': ['192.0.2.3'],
    short: ['192.0.2.99'],
    'hangs.first.test': 'silence',
    hangs: ['192.0.2.98'],
  });
  beforeEach(async () => {
    clock.now = 0;
    server.asked.length = 0;
    await writeFile(path.join(folder, 'hosts'), HOSTS);
    await writeFile(path.join(folder, 'resolv.conf'), RESOLV_CONF);
  });
  afterEach(() => {
    jest.useRealTimers();
    for (const stop of stops.splice(0)) stop();
  });
  afterAll(async () => {
    await server.stop();
    await rm(folder, { recursive: true });
  });
  return {
    clock,
    folder,
    server,
    resolver: (options = {}) => {
      const lookup = createNameResolver({
        hostsFile: path.join(folder, 'hosts'),
        configFile: path.join(folder, 'resolv.conf'),
        servers: [server.address],
        respondWithinMs: PATIENT_MS,
        now: () => clock.now,
        ...options,
      });
      return (name, given = BOTH) =>
        new Promise((resolve) => {
          const running = lookup(
            name,
            { ...given, all: true },
            {
              ...NO_EVENTS,
              onResult: (error, addresses) =>
                resolve(error === null ? addresses.map(({ address }) => address) : (error.code ?? '')),
            },
          );
          stops.push(() => running.stop());
        });
    },
  };
}

/** Holds the timers of lookups, so that pauses end when the test moves the clock. Timeouts of c-ares are not affected. */
export function holdPauses(): void {
  jest.useFakeTimers({ doNotFake: ['setImmediate', 'nextTick', 'queueMicrotask', 'performance', 'Date'] });
}

/** Moves the clock until a condition holds. */
export function untilPassed(what: string, holds: () => boolean, stepMs = 100): Promise<unknown> {
  return until(what, () => {
    jest.advanceTimersByTime(stepMs);
    return holds();
  });
}
