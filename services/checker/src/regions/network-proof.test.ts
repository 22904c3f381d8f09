import type { LookupAddress } from 'node:dns';
import type { Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, jest, test } from '@jest/globals';
import type { CheckTarget } from '@tocsin/db/monitors/check-targets';
import { createEgress } from '@tocsin/egress/create-egress';
import { createMetrics } from '@tocsin/runtime/metrics';
import { createCheckerMetrics, type CheckerMetrics } from '../metrics.ts';
import { ProbeAbortedError, Prober } from '../probe/probe.ts';
import {
  createLocalTargets,
  holdProbeClock,
  type LocalTarget,
  responding,
} from '../testing/local-targets.ts';
import { testNetworkProof } from '../testing/test-network-proof.ts';
import type { NetworkProof, NetworkProofOptions, ProbedCheck } from './network-proof.ts';

const REGION = 'eu';
const servers = createLocalTargets();

/** What happens to the connections of this process, and to its lookups. */
let network: { connections: 'work' | 'break' | 'hang'; names: 'resolve' | 'fail'; lookupMs: number };
/** Whether the checked target itself works. */
let targetWorks: boolean;
let canaries: CheckTarget[];
let postgres: 'available' | 'unavailable';
let lists: number;
let reports: string[];
let metrics: CheckerMetrics;
let shutdown: AbortController;
let prober: Prober;
let proof: NetworkProof;

beforeEach(() => {
  // Rounds and time-outs come when a test moves the clock.
  holdProbeClock();
  network = { connections: 'work', names: 'resolve', lookupMs: 0 };
  targetWorks = true;
  canaries = [];
  postgres = 'available';
  lists = 0;
  reports = [];
  shutdown = new AbortController();
  const { signal } = shutdown;
  metrics = createCheckerMetrics(createMetrics());
  const egress = createEgress({
    allowCidrs: ['127.0.0.0/8'],
    lookup: (hostname, _options, done) => {
      const addresses: LookupAddress[] = [{ address: '127.0.0.1', family: 4 }];
      const error = Object.assign(new Error(`getaddrinfo ENOTFOUND ${hostname}`), { code: 'ENOTFOUND' });
      if (network.names === 'fail') setImmediate(done, error, []);
      else if (network.lookupMs === 0) setImmediate(done, null, addresses);
      else setTimeout(done, network.lookupMs, null, addresses);
    },
  });
  prober = new Prober({ egress, signal });
  const { canaryRounds } = metrics;
  const options = {
    prober,
    signal,
    canaryRounds,
    report: { renew: report('isolated'), end: report('ended') },
  };
  proof = testNetworkProof({ ...options, loadCanaries });
});
afterEach(async () => {
  shutdown.abort();
  await proof.close();
  jest.useRealTimers();
  await servers.closeAll();
});

const loadCanaries: NetworkProofOptions['loadCanaries'] = async (accountId) => {
  lists += 1;
  if (postgres === 'unavailable') throw new Error('Postgres is unavailable');
  return canaries.filter((canary) => canary.accountId === accountId);
};

function report(what: string): (isolation: { readonly accountId: string }) => Promise<void> {
  return async ({ accountId }) => {
    if (postgres === 'unavailable') throw new Error('Postgres is unavailable');
    reports.push(`${accountId} ${what}`);
  };
}

/** A server behind the network. @param works whether it responds if the network works */
function serve(works: () => boolean = () => true): Promise<LocalTarget> {
  return servers.tcp((socket) => {
    const state = works() ? network.connections : 'break';
    if (state === 'break') socket.destroy();
    else
      socket.once(
        'data',
        () => state === 'work' && socket.end('HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n'),
      );
  });
}

function monitor(monitorId: string, url: string, changes: Partial<CheckTarget> = {}): CheckTarget {
  return {
    monitorId,
    accountId: 'shop',
    revision: 1,
    url,
    method: 'GET',
    headers: null,
    body: null,
    assertions: null,
    intervalSeconds: 60,
    timeoutSeconds: 10,
    retryIntervalSeconds: null,
    regions: [REGION],
    ...changes,
  };
}

async function addCanary(name: string, changes: Partial<CheckTarget> = {}): Promise<LocalTarget> {
  const server = await serve();
  canaries.push(monitor(name, server.origin, changes));
  return server;
}

/** Probes a monitor that is not reached. A clock that moves by `afterMs` meanwhile ends a probe that hangs. */
async function failedCheck(target: CheckTarget, afterMs = 0): Promise<ProbedCheck> {
  const startedAt = performance.now();
  const owner = { account: target.accountId, resource: target.monitorId };
  const probing = prober.probe({ ...target, timeoutMs: target.timeoutSeconds * 1_000, owner });
  jest.advanceTimersByTime(afterMs);
  const result = await probing;
  expect(result.transportFailure).not.toBeNull();
  const endedAt = performance.now();
  return { target, region: REGION, urlOverride: null, startedAt, endedAt, result };
}

/** A check that fails because its target closes every connection. */
async function brokenCheck(monitorId = 'site', changes: Partial<CheckTarget> = {}): Promise<ProbedCheck> {
  const server = await serve(() => targetWorks);
  targetWorks = false;
  return failedCheck(monitor(monitorId, server.origin, changes));
}

/** Of a target that refuses connections. */
async function refusedCheck(monitorId = 'site'): Promise<ProbedCheck> {
  return failedCheck(monitor(monitorId, `http://127.0.0.1:${await servers.closedPort()}`));
}

/** Moves the clock until a condition holds. Between two steps the process reads what has arrived. */
async function advanceUntil(
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
async function settled<Value>(promise: Promise<Value>, stepMs?: number): Promise<Value> {
  let isSettled = false;
  const watching = promise.catch(() => undefined).finally(() => (isSettled = true));
  await advanceUntil('the promise settles', () => isSettled, stepMs);
  await watching;
  return promise;
}

const ended = (): Promise<void> => advanceUntil('the isolation ends', () => reports.at(-1) === 'shop ended');

async function rounds(): Promise<Record<string, number>> {
  const { values } = await metrics.canaryRounds.get();
  return Object.fromEntries(values.map(({ labels, value }) => [labels.result, value]));
}

/** Cuts the connections, and lets a check find out. */
async function isolate(): Promise<void> {
  network.connections = 'break';
  const check = await failedCheck(monitor('first', (await serve()).origin));
  expect(await settled(proof.prove(check))).toBe('isolated');
}

describe('a check that failed below HTTP', () => {
  test('counts at once without canaries', async () => {
    const check = await brokenCheck();
    expect(await proof.networkOf(check)).toBeNull();
    expect(await rounds()).toEqual({});
  });

  test('counts if a canary responds', async () => {
    const canary = await addCanary('canary');
    const check = await refusedCheck();
    expect(await proof.networkOf(check)).toBe('unproven');
    expect(await settled(proof.prove(check))).toBeNull();
    expect([canary.connections(), await rounds()]).toEqual([1, { connected: 1 }]);
    expect(reports).toEqual([]);
  });

  test('counts if one canary of several responds, without waiting for those that hang', async () => {
    const hanging = await servers.tcp(() => undefined);
    canaries.push(monitor('hanging', hanging.origin));
    await addCanary('canary');
    const check = await brokenCheck();
    // The clock only starts the round, and never ends a probe.
    expect(await settled(proof.prove(check), 1)).toBeNull();
  });

  test('counts if a canary responds with a redirect to a target that does not', async () => {
    const location = `http://127.0.0.1:${await servers.closedPort()}`;
    const head = `HTTP/1.1 302 Found\r\nLocation: ${location}\r\nContent-Length: 0\r\n\r\n`;
    canaries.push(monitor('canary', (await responding(servers, head)).origin));
    expect(await settled(proof.prove(await refusedCheck()))).toBeNull();
    expect(await rounds()).toEqual({ connected: 1 });
  });

  test('does not count if no canary responds', async () => {
    await addCanary('one');
    await addCanary('two');
    await isolate();
    expect([await rounds(), reports]).toEqual([{ isolated: 1 }, ['shop isolated']]);
  });

  test('counts in any case if it is of a canary, or of another URL than the monitor’s', async () => {
    const canary = await addCanary('canary');
    network.connections = 'break';
    const own = await failedCheck(monitor('canary', canary.origin));
    expect(await proof.networkOf(own)).toBeNull();
    await isolate();
    expect(await proof.networkOf(own)).toBeNull();
    expect(await settled(proof.prove(own))).toBeNull();
    const other = await failedCheck(monitor('site', canary.origin));
    expect(await proof.networkOf({ ...other, urlOverride: canary.origin })).toBeNull();
  });

  test('counts after ten seconds if the canaries show nothing', async () => {
    canaries.push(monitor('blocked', 'http://10.0.0.1'));
    const check = await brokenCheck();
    const waitedFrom = performance.now();
    expect(await settled(proof.prove(check))).toBeNull();
    expect(performance.now() - waitedFrom).toBeGreaterThanOrEqual(10_000);
    expect(Object.keys(await rounds())).toEqual(['unknown']);
  });

  test('has no result if the process shuts down', async () => {
    canaries.push(monitor('blocked', 'http://10.0.0.1'));
    const check = await brokenCheck();
    const proving = proof.prove(check);
    proving.catch(() => undefined);
    await advanceUntil('a round ends', async () => (await rounds())['unknown'] === 1);
    shutdown.abort();
    await expect(settled(proving)).rejects.toThrow(ProbeAbortedError);
  });
});

describe('rounds', () => {
  test('are shared by the results that wait, and start at most every two seconds', async () => {
    const canary = await addCanary('canary');
    const first = await Promise.all(Array.from({ length: 20 }, (_, index) => refusedCheck(`first ${index}`)));
    const startedAt = performance.now();
    const proving = Promise.all(first.map((check) => proof.prove(check)));
    expect(await settled(proving)).toEqual(first.map(() => null));
    expect(canary.connections()).toBe(1);
    const second = await refusedCheck('second');
    expect(await settled(proof.prove(second))).toBeNull();
    expect(canary.connections()).toBe(2);
    expect(performance.now() - startedAt).toBeGreaterThanOrEqual(2_000);
  });

  test('are not needed if a canary’s own check passed since the check started', async () => {
    const canary = await addCanary('canary');
    // The list of canaries is read.
    expect(await proof.networkOf(await brokenCheck('earlier'))).toBe('unproven');
    const check = await brokenCheck();
    const passed = { ...check, target: monitor('canary', canary.origin), startedAt: check.startedAt + 0.5 };
    const result = await prober.probe({
      ...passed.target,
      timeoutMs: 10_000,
      owner: { account: 'shop', resource: 'canary' },
    });
    proof.noteResult({ ...passed, endedAt: passed.startedAt + 1, result });
    expect(await proof.prove(check)).toBeNull();
    expect([canary.connections(), await rounds()]).toEqual([1, {}]);
    // A response to another monitor, or to another URL, proves nothing.
    const later = { ...check, startedAt: passed.startedAt };
    proof.noteResult({ ...check, startedAt: performance.now() + 1, endedAt: performance.now() + 1, result });
    proof.noteResult({
      ...passed,
      startedAt: performance.now() + 1,
      endedAt: performance.now() + 1,
      urlOverride: canary.origin,
      result,
    });
    jest.advanceTimersByTime(2);
    expect(await settled(proof.prove(later))).toBeNull();
    expect(await rounds()).toEqual({ connected: 2 });
  });

  test('of an account whose canaries hang do not delay those of another', async () => {
    const hanging = await servers.tcp(() => undefined);
    const down = await servers.tcp((socket) => void socket.destroy());
    await addCanary('canary');
    for (let index = 0; index < 10; index += 1)
      canaries.push(monitor(`hostile ${index}`, hanging.origin, { accountId: 'hostile' }));
    const hostile = await failedCheck(monitor('hostile', down.origin, { accountId: 'hostile' }));
    const stuck = Array.from({ length: 1_000 }, () => proof.prove(hostile).catch(() => null));
    await advanceUntil('the canaries hang', () => hanging.connections() === 10, 1);
    expect(await settled(proof.prove(await brokenCheck()), 1)).toBeNull();
    // One round at a time, however many results wait: the first has ended by now.
    expect(hanging.connections()).toBeLessThanOrEqual(20);
    network.connections = 'break';
    await settled(Promise.all(stuck), 200);
  });
});

describe('while no name resolves', () => {
  beforeEach(async () => {
    const named = await addCanary('named');
    canaries = [monitor('named', `http://canary.test:${named.port}`)];
    await addCanary('address');
    network.names = 'fail';
  });

  test('checks of names do not count, and those of addresses do', async () => {
    const check = await failedCheck(monitor('site', 'http://site.test:1'));
    expect(await settled(proof.prove(check))).toBe('isolated');
    expect([await rounds(), reports]).toEqual([{ no_dns: 1 }, ['shop isolated']]);
    expect(await proof.networkOf(check)).toBe('isolated');
    const refused = await brokenCheck('by address');
    expect(await proof.networkOf(refused)).toBe('unproven');
    expect(await settled(proof.prove(refused))).toBeNull();
    network.names = 'resolve';
    await ended();
  });

  test('checks of names count if no canary has a name', async () => {
    canaries = canaries.slice(1);
    const check = await failedCheck(monitor('site', 'http://site.test:1'));
    expect(await settled(proof.prove(check))).toBeNull();
    expect(await rounds()).toEqual({ connected: 2 });
  });

  test('a lookup that times out is one that failed', async () => {
    network.names = 'resolve';
    network.lookupMs = 60_000;
    const check = await failedCheck(monitor('site', 'http://site.test:1'), 10_000);
    expect(check.result.transportFailure).toBe('lookup');
    expect(await settled(proof.prove(check), 200)).toBe('isolated');
  });
});

describe('an isolation', () => {
  test('makes failures inconclusive at once, and ends when a canary responds', async () => {
    const canary = await addCanary('canary');
    await isolate();
    const during = await failedCheck(monitor('site', canary.origin));
    expect(await proof.networkOf(during)).toBe('isolated');
    network.connections = 'work';
    await ended();
    expect((await rounds())['connected']).toBe(1);
    // Nothing is probed any more.
    const probes = canary.connections();
    jest.advanceTimersByTime(10_000);
    await delay(1);
    expect(canary.connections()).toBe(probes);
  });

  test('is reported every five seconds', async () => {
    await addCanary('canary');
    await isolate();
    for (const count of [2, 3]) {
      await advanceUntil('another report', () => reports.length === count);
    }
    expect(reports).toEqual(['shop isolated', 'shop isolated', 'shop isolated']);
  });

  test('is reported later if Postgres is unavailable, even if it has ended, and goes on with the last list of canaries', async () => {
    await addCanary('canary');
    expect(await proof.networkOf(await brokenCheck())).toBe('unproven');
    targetWorks = true;
    postgres = 'unavailable';
    await isolate();
    jest.advanceTimersByTime(6_000);
    network.connections = 'work';
    await advanceUntil('a canary responds', async () => (await rounds())['connected'] === 1);
    expect(reports).toEqual([]);
    postgres = 'available';
    await advanceUntil('the report', () => reports.length > 0);
    expect(reports).toEqual(['shop ended']);
  });

  test('ends when the account has no canaries any more', async () => {
    await addCanary('canary');
    await isolate();
    canaries = [];
    await ended();
    expect(await proof.networkOf(await brokenCheck())).toBeNull();
  });

  test('ends with a canary that was added meanwhile', async () => {
    await addCanary('down', { url: 'http://127.0.0.1:1' });
    await isolate();
    network.connections = 'work';
    await addCanary('up');
    await ended();
  });

  test('of one account is none of another', async () => {
    await addCanary('canary');
    await addCanary('other canary', { accountId: 'bank' });
    await isolate();
    network.connections = 'work';
    const check = await brokenCheck('bank site', { accountId: 'bank' });
    expect(await proof.networkOf(check)).toBe('unproven');
    expect(await settled(proof.prove(check))).toBeNull();
    expect(reports.filter((one) => one.startsWith('bank'))).toEqual([]);
  });
});

describe('a check that the network may have failed until shortly before the proof', () => {
  /** A check that timed out after ten seconds, in which a hanging network may have come back. */
  async function timedOutCheck(): Promise<ProbedCheck> {
    const server = await serve(() => targetWorks);
    network.connections = 'hang';
    return failedCheck(monitor('site', server.origin), 10_000);
  }

  test('does not count if it failed at once and its target responds now', async () => {
    await addCanary('canary');
    const check = await brokenCheck();
    targetWorks = true;
    expect(await settled(proof.prove(check), 1)).toBe('isolated');
  });

  test('does not count if its target responds now', async () => {
    await addCanary('canary');
    const check = await timedOutCheck();
    network.connections = 'work';
    expect(await settled(proof.prove(check), 1)).toBe('isolated');
    expect(reports).toEqual([]);
  });

  test('does not count if a canary responded only after its packets were repeated', async () => {
    const named = await addCanary('named');
    canaries = [monitor('named', `http://canary.test:${named.port}`)];
    network.lookupMs = 1_500;
    const check = await brokenCheck();
    targetWorks = true;
    expect(await settled(proof.prove(check))).toBe('isolated');
  });

  test('does not count because a canary responded early in the check', async () => {
    await addCanary('canary');
    const earlier = await brokenCheck('earlier');
    expect(await settled(proof.prove(earlier), 1)).toBeNull();
    targetWorks = true;
    const check = await timedOutCheck();
    network.connections = 'work';
    expect(await settled(proof.prove({ ...check, startedAt: earlier.startedAt }), 1)).toBe('isolated');
  });

  test('counts if its target fails again', async () => {
    await addCanary('canary');
    const check = await timedOutCheck();
    network.connections = 'work';
    targetWorks = false;
    expect(await settled(proof.prove(check))).toBeNull();
  });

  test('does not count if the network is lost while its target is probed again', async () => {
    const canary = await addCanary('canary');
    const check = await timedOutCheck();
    network.connections = 'work';
    const { origin } = await servers.tcp((socket) => {
      network.connections = 'break';
      socket.destroy();
    });
    const again = { ...check, target: { ...check.target, url: origin } };
    expect(await settled(proof.prove(again), 50)).toBe('isolated');
    expect(canary.connections()).toBe(2);
  });

  test('does not count if an isolation began and ended while its target was probed again', async () => {
    await addCanary('canary');
    const check = await timedOutCheck();
    network.connections = 'work';
    let second: Socket | undefined;
    const { origin } = await servers.tcp((socket) => (second = socket));
    const proving = proof.prove({ ...check, target: { ...check.target, url: origin } });
    await advanceUntil('the target is probed again', () => second !== undefined);
    await isolate();
    network.connections = 'work';
    await ended();
    second?.destroy();
    expect(await settled(proving)).toBe('isolated');
  });

  test('does not count if it began in an isolation that has ended, and its target responds now', async () => {
    const canary = await addCanary('canary');
    await isolate();
    // The next round comes within a second after the check.
    jest.advanceTimersByTime(1_500);
    const check = await failedCheck(monitor('site', canary.origin));
    const { startedAt } = check;
    network.connections = 'work';
    await ended();
    expect(await settled(proof.networkOf(check))).toBe('isolated');
    targetWorks = false;
    const down = await serve(() => targetWorks);
    expect(
      await settled(proof.networkOf({ ...check, target: monitor('down', down.origin), startedAt })),
    ).toBeNull();
  });
});
