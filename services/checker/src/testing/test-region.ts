import type { LookupAddress } from 'node:dns';
import { setTimeout as delay } from 'node:timers/promises';
import { expect, jest } from '@jest/globals';
import type { CheckTarget } from '@tocsin/db/monitors/check-targets';
import { createEgress } from '@tocsin/egress/create-egress';
import { createMetrics } from '@tocsin/runtime/metrics';
import { createCheckerMetrics } from '../metrics.ts';
import { Prober } from '@tocsin/probe/probe';
import type { NetworkProof, ProbedCheck } from '../regions/network-proof.ts';
import {
  type ConnectionState,
  createLocalTargets,
  holdProbeClock,
  type LocalTarget,
  serveWhileConnected,
} from '@tocsin/probe/testing/local-targets';
import { testNetworkProof } from './test-network-proof.ts';

const REGION = 'eu';

interface Network {
  connections: ConnectionState;
  /** `lack` means that this process has no file descriptor for a lookup. */
  names: 'resolve' | 'fail' | 'lack';
  lookupMs: number;
}

/**
 * A process that checks one region, with a network, canaries and a Postgres that a test controls. Rounds and timeouts happen when the test
 * moves the clock.
 */
export class TestRegion {
  readonly servers = createLocalTargets();
  /** State of this process's connections and lookups. */
  readonly network: Network = { connections: 'work', names: 'resolve', lookupMs: 0 };
  targetWorks = true;
  canaries: CheckTarget[] = [];
  postgres: 'available' | 'unavailable' = 'available';
  /** Account and state of each reported isolation, in order. */
  readonly reports: string[] = [];
  readonly shutdown = new AbortController();
  readonly prober: Prober;
  readonly proof: NetworkProof;
  readonly #metrics = createCheckerMetrics(createMetrics());

  private constructor() {
    const { signal } = this.shutdown;
    const egress = createEgress({
      allowCidrs: ['127.0.0.0/8'],
      lookup: (hostname, _options, done) => {
        const { names, lookupMs } = this.network;
        const addresses: LookupAddress[] = [{ address: '127.0.0.1', family: 4 }];
        const code = names === 'fail' ? 'ENOTFOUND' : 'EMFILE';
        const error = Object.assign(new Error(`getaddrinfo ${code} ${hostname}`), { code });
        if (names !== 'resolve') setImmediate(done, error, []);
        else if (lookupMs === 0) setImmediate(done, null, addresses);
        else setTimeout(done, lookupMs, null, addresses);
      },
    });
    this.prober = new Prober({ egress, signal });
    this.proof = testNetworkProof({
      prober: this.prober,
      signal,
      canaryRounds: this.#metrics.canaryRounds,
      loadCanaries: async (accountId) => {
        this.#queryPostgres();
        return this.canaries.filter((canary) => canary.accountId === accountId);
      },
      report: { renew: this.#report('isolated'), end: this.#report('ended') },
    });
  }

  /** Stops the clock until `close`, which belongs in `afterEach`. */
  static start(): TestRegion {
    holdProbeClock();
    return new TestRegion();
  }

  async close(): Promise<void> {
    this.shutdown.abort();
    await this.proof.close();
    jest.useRealTimers();
    await this.servers.closeAll();
  }

  /** Starts a server behind the network. @param works returns true if the server responds while the network works */
  serve(works: () => boolean = () => true): Promise<LocalTarget> {
    return serveWhileConnected(this.servers, () => (works() ? this.network.connections : 'break'));
  }

  async addCanary(name: string, changes: Partial<CheckTarget> = {}): Promise<LocalTarget> {
    const server = await this.serve();
    this.canaries.push(monitor(name, server.origin, changes));
    return server;
  }

  /** Probes a monitor that cannot be reached. Moving the clock by `afterMs` ends a probe that hangs. */
  async failedCheck(target: CheckTarget, afterMs = 0): Promise<ProbedCheck> {
    const startedAt = performance.now();
    const owner = { account: target.accountId, resource: target.monitorId };
    const probing = this.prober.probe({ ...target, timeoutMs: target.timeoutSeconds * 1_000, owner });
    // The lookup begins.
    await new Promise(setImmediate);
    jest.advanceTimersByTime(afterMs);
    const result = await probing;
    expect(result.transportFailure).not.toBeNull();
    const endedAt = performance.now();
    return { target, region: REGION, urlOverride: null, startedAt, endedAt, result };
  }

  /** Makes a check that fails because its target closes every connection. */
  async brokenCheck(monitorId = 'site', changes: Partial<CheckTarget> = {}): Promise<ProbedCheck> {
    const server = await this.serve(() => this.targetWorks);
    this.targetWorks = false;
    return this.failedCheck(monitor(monitorId, server.origin, changes));
  }

  /** Makes a check of a target that refuses connections. */
  async refusedCheck(monitorId = 'site'): Promise<ProbedCheck> {
    return this.failedCheck(monitor(monitorId, `http://127.0.0.1:${await this.servers.closedPort()}`));
  }

  /** Records a check of the canary `canary` that passed within a millisecond. */
  async noteCanary({ origin }: LocalTarget, startedAt: number): Promise<ProbedCheck> {
    const target = monitor('canary', origin);
    const owner = { account: target.accountId, resource: target.monitorId };
    const result = await this.prober.probe({ ...target, timeoutMs: 10_000, owner });
    const passed = { target, region: REGION, urlOverride: null, startedAt, endedAt: startedAt + 1, result };
    this.proof.noteResult(passed);
    return passed;
  }

  /** Cuts the connections, and lets a check notice it. */
  async isolate(): Promise<void> {
    this.network.connections = 'break';
    const check = await this.failedCheck(monitor('first', (await this.serve()).origin));
    expect(await settled(this.proof.prove(check))).toBe('isolated');
  }

  /** Moves the clock until the isolation of the account `shop` is reported to have ended. */
  isolationEnded(): Promise<void> {
    return advanceUntil('the isolation ends', () => this.reports.at(-1) === 'shop ended');
  }

  async rounds(): Promise<Record<string, number>> {
    const { values } = await this.#metrics.canaryRounds.get();
    return Object.fromEntries(values.map(({ labels, value }) => [labels.result, value]));
  }

  #report(state: string): (isolation: { readonly accountId: string }) => Promise<void> {
    return async ({ accountId }) => {
      this.#queryPostgres();
      this.reports.push(`${accountId} ${state}`);
    };
  }

  #queryPostgres(): void {
    if (this.postgres === 'unavailable') throw new Error('Postgres is unavailable');
  }
}

export function monitor(monitorId: string, url: string, changes: Partial<CheckTarget> = {}): CheckTarget {
  return {
    monitorId,
    accountId: 'shop',
    revision: 1,
    url,
    method: 'GET',
    headers: null,
    body: null,
    followRedirects: true,
    ipFamily: null,
    connectTo: null,
    tls: null,
    assertions: null,
    enabled: true,
    intervalSeconds: 60,
    timeoutSeconds: 10,
    retryIntervalSeconds: null,
    regions: [REGION],
    ...changes,
  };
}

/** Moves the clock until a condition holds. Between two steps, the process reads received data. */
export async function advanceUntil(
  what: string,
  holds: () => Promise<boolean> | boolean,
  stepMs = 50,
): Promise<void> {
  const hangsAt = Date.now() + 60_000;
  while (!(await holds())) {
    if (Date.now() > hangsAt) throw new Error(`still waiting: ${what}`);
    jest.advanceTimersByTime(stepMs);
    await delay(1);
  }
}

/** Moves the clock until the promise settles. */
export async function settled<Value>(promise: Promise<Value>, stepMs?: number): Promise<Value> {
  let isSettled = false;
  const watching = promise.catch(() => undefined).finally(() => (isSettled = true));
  await advanceUntil('the promise settles', () => isSettled, stepMs);
  await watching;
  return promise;
}
