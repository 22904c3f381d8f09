import type { Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, jest, test } from '@jest/globals';
import { ProbeAbortedError } from '@tocsin/probe/probe';
import { responding } from '@tocsin/probe/testing/local-targets';
import { advanceUntil, monitor, settled, TestRegion } from '../testing/test-region.ts';
import type { ProbedCheck } from './network-proof.ts';

let region: TestRegion;
beforeEach(() => {
  region = TestRegion.start();
});
afterEach(() => region.close());

describe('a check that failed below HTTP', () => {
  test('counts at once without canaries', async () => {
    const check = await region.brokenCheck();
    expect(await region.proof.networkOf(check)).toBeNull();
    expect(await region.rounds()).toEqual({});
  });

  test('counts if a canary responds', async () => {
    const canary = await region.addCanary('canary');
    const check = await region.refusedCheck();
    expect(await region.proof.networkOf(check)).toBe('unproven');
    expect(await settled(region.proof.prove(check))).toBeNull();
    expect([canary.connections(), await region.rounds()]).toEqual([1, { connected: 1 }]);
    expect(region.reports).toEqual([]);
  });

  test('counts if one of several canaries responds, without waiting for canaries that hang', async () => {
    const hanging = await region.servers.tcp(() => undefined);
    region.canaries.push(monitor('hanging', hanging.origin));
    await region.addCanary('canary');
    const check = await region.brokenCheck();
    // The clock only starts the round, and never ends a probe.
    expect(await settled(region.proof.prove(check), 10)).toBeNull();
  });

  test('counts if a canary responds with a redirect to a target that does not', async () => {
    const location = `http://127.0.0.1:${await region.servers.closedPort()}`;
    const head = `HTTP/1.1 302 Found\r\nLocation: ${location}\r\nContent-Length: 0\r\n\r\n`;
    region.canaries.push(monitor('canary', (await responding(region.servers, head)).origin));
    expect(await settled(region.proof.prove(await region.refusedCheck()))).toBeNull();
    expect(await region.rounds()).toEqual({ connected: 1 });
  });

  test('does not count if no canary responds', async () => {
    await region.addCanary('one');
    await region.addCanary('two');
    await region.isolate();
    expect([await region.rounds(), region.reports]).toEqual([{ isolated: 1 }, ['shop isolated']]);
  });

  test('always counts if it is from a canary, or from a URL other than the monitor’s', async () => {
    const canary = await region.addCanary('canary');
    region.network.connections = 'break';
    const own = await region.failedCheck(monitor('canary', canary.origin));
    expect(await region.proof.networkOf(own)).toBeNull();
    await region.isolate();
    expect(await region.proof.networkOf(own)).toBeNull();
    expect(await settled(region.proof.prove(own))).toBeNull();
    const other = await region.failedCheck(monitor('site', canary.origin));
    expect(await region.proof.networkOf({ ...other, urlOverride: canary.origin })).toBeNull();
  });

  test('counts after ten seconds if the canaries show nothing', async () => {
    region.canaries.push(monitor('blocked', 'http://10.0.0.1'));
    const check = await region.brokenCheck();
    const waitedFrom = performance.now();
    expect(await settled(region.proof.prove(check))).toBeNull();
    expect(performance.now() - waitedFrom).toBeGreaterThanOrEqual(10_000);
    expect(Object.keys(await region.rounds())).toEqual(['unknown']);
  });

  test('has no result if the process shuts down', async () => {
    region.canaries.push(monitor('blocked', 'http://10.0.0.1'));
    const check = await region.brokenCheck();
    const proving = region.proof.prove(check);
    proving.catch(() => undefined);
    await advanceUntil('a round ends', async () => (await region.rounds())['unknown'] === 1);
    region.shutdown.abort();
    await expect(settled(proving)).rejects.toThrow(ProbeAbortedError);
  });
});

describe('rounds', () => {
  test('are shared by the results that wait, and start at most every two seconds', async () => {
    const canary = await region.addCanary('canary');
    const first = await Promise.all(
      Array.from({ length: 20 }, (_, index) => region.refusedCheck(`first ${index}`)),
    );
    const startedAt = performance.now();
    const proving = Promise.all(first.map((check) => region.proof.prove(check)));
    expect(await settled(proving)).toEqual(first.map(() => null));
    expect(canary.connections()).toBe(1);
    const second = await region.refusedCheck('second');
    expect(await settled(region.proof.prove(second))).toBeNull();
    expect(canary.connections()).toBe(2);
    expect(performance.now() - startedAt).toBeGreaterThanOrEqual(2_000);
  });

  test('are not needed if a canary’s own check passed since the check started', async () => {
    const canary = await region.addCanary('canary');
    // The list of canaries is read.
    expect(await region.proof.networkOf(await region.brokenCheck('earlier'))).toBe('unproven');
    const check = await region.brokenCheck();
    const passed = await region.noteCanary(canary, check.startedAt + 0.5);
    const { result } = passed;
    expect(await region.proof.prove(check)).toBeNull();
    expect([canary.connections(), await region.rounds()]).toEqual([1, {}]);
    // A response to another monitor, or to another URL, proves nothing.
    const later = { ...check, startedAt: passed.startedAt };
    const now = { startedAt: performance.now() + 1, endedAt: performance.now() + 1, result };
    region.proof.noteResult({ ...check, ...now });
    region.proof.noteResult({ ...passed, ...now, urlOverride: canary.origin });
    jest.advanceTimersByTime(2);
    expect(await settled(region.proof.prove(later))).toBeNull();
    expect(await region.rounds()).toEqual({ connected: 2 });
  });

  test('of an account whose canaries hang do not delay checks of another account', async () => {
    const hanging = await region.servers.tcp(() => undefined);
    const down = await region.servers.tcp((socket) => void socket.destroy());
    await region.addCanary('canary');
    for (let index = 0; index < 10; index += 1)
      region.canaries.push(monitor(`hostile ${index}`, hanging.origin, { accountId: 'hostile' }));
    const hostile = await region.failedCheck(monitor('hostile', down.origin, { accountId: 'hostile' }));
    const stuck = Array.from({ length: 1_000 }, () => region.proof.prove(hostile).catch(() => null));
    await advanceUntil('the canaries hang', () => hanging.connections() === 10, 1);
    expect(await settled(region.proof.prove(await region.brokenCheck()), 10)).toBeNull();
    // Only one round runs at a time, even if many results wait, and the first one has ended by now.
    expect(hanging.connections()).toBeLessThanOrEqual(20);
    region.network.connections = 'break';
    await settled(Promise.all(stuck), 200);
  });
});

describe('while no name resolves', () => {
  beforeEach(async () => {
    const named = await region.addCanary('named');
    region.canaries = [monitor('named', `http://canary.test:${named.port}`)];
    await region.addCanary('address');
    region.network.names = 'fail';
  });

  test('checks by name do not count, and checks by address do', async () => {
    const check = await region.failedCheck(monitor('site', 'http://site.test:1'));
    expect(await settled(region.proof.prove(check))).toBe('isolated');
    expect([await region.rounds(), region.reports]).toEqual([{ no_dns: 1 }, ['shop isolated']]);
    expect(await region.proof.networkOf(check)).toBe('isolated');
    const refused = await region.brokenCheck('by address');
    expect(await region.proof.networkOf(refused)).toBe('unproven');
    expect(await settled(region.proof.prove(refused))).toBeNull();
    region.network.names = 'resolve';
    await region.isolationEnded();
  });

  test('checks of names count if no canary has a name', async () => {
    region.canaries = region.canaries.slice(1);
    const check = await region.failedCheck(monitor('site', 'http://site.test:1'));
    expect(await settled(region.proof.prove(check))).toBeNull();
    expect(await region.rounds()).toEqual({ connected: 2 });
  });

  test('a canary that this process could not probe for lack of a file descriptor shows nothing', async () => {
    region.canaries = region.canaries.slice(0, 1);
    region.network.names = 'lack';
    expect(await settled(region.proof.prove(await region.brokenCheck()), 500)).toBeNull();
    expect([Object.keys(await region.rounds()), region.reports]).toEqual([['unknown'], []]);
  });

  test('a lookup that times out is one that failed', async () => {
    region.network.names = 'resolve';
    region.network.lookupMs = 60_000;
    const check = await region.failedCheck(monitor('site', 'http://site.test:1'), 10_000);
    expect(check.result.transportFailure).toBe('lookup');
    expect(await settled(region.proof.prove(check), 200)).toBe('isolated');
  });
});

describe('a check that the network may have caused to fail shortly before the proof', () => {
  /** A check that timed out after ten seconds, during which a hanging network may have recovered. */
  async function timedOutCheck(): Promise<ProbedCheck> {
    const server = await region.serve(() => region.targetWorks);
    region.network.connections = 'hang';
    return region.failedCheck(monitor('site', server.origin), 10_000);
  }

  test('does not count if it failed at once and its target responds now', async () => {
    await region.addCanary('canary');
    const check = await region.brokenCheck();
    region.targetWorks = true;
    expect(await settled(region.proof.prove(check), 10)).toBe('doubtful');
  });

  test('does not count if a canary responded only after its packets were repeated', async () => {
    const named = await region.addCanary('named');
    region.canaries = [monitor('named', `http://canary.test:${named.port}`)];
    region.network.lookupMs = 1_500;
    const check = await region.brokenCheck();
    region.targetWorks = true;
    expect(await settled(region.proof.prove(check))).toBe('doubtful');
  });

  test('does not count because a canary responded early in the check', async () => {
    await region.addCanary('canary');
    const earlier = await region.brokenCheck('earlier');
    expect(await settled(region.proof.prove(earlier), 10)).toBeNull();
    region.targetWorks = true;
    const check = await timedOutCheck();
    region.network.connections = 'work';
    expect(await settled(region.proof.prove({ ...check, startedAt: earlier.startedAt }), 10)).toBe(
      'doubtful',
    );
  });

  test.each([
    [
      'counts if one before it was doubtful, and canaries responded before, during and after it',
      'cold',
      null,
    ],
    ['does not count if only a check of another monitor was doubtful', 'other', 'doubtful'],
  ] as const)('%s', async (_, monitorId, expected) => {
    await region.addCanary('canary');
    let probes = 0;
    const cold = await region.servers.http((_request, response) => {
      probes += 1;
      if (probes % 2 === 0) response.end();
    });
    const target = monitor('cold', cold.origin, { timeoutSeconds: 5 });
    const doubtful = await region.failedCheck(target, 5_000);
    expect(await settled(region.proof.prove(doubtful), 1)).toBe('doubtful');
    jest.advanceTimersByTime(2_000);
    const end = await settled(region.proof.accompany(target, doubtful), 1);
    const failing = region.failedCheck({ ...target, monitorId });
    await advanceUntil('the target is probed', () => probes === 3, 0);
    for (const count of [3, 4]) {
      jest.advanceTimersByTime(2_000);
      await advanceUntil('a round ends', async () => (await region.rounds())['connected'] === count, 0);
    }
    jest.advanceTimersByTime(1_000);
    const check = await failing;
    end();
    expect(await settled(region.proof.prove(check), 10)).toBe(expected);
    expect(probes).toBe(expected === null ? 3 : 4);
  });

  test('does not count if the network was lost after a canary had responded during the check', async () => {
    const canary = await region.addCanary('canary');
    // The list of canaries is read.
    await region.proof.networkOf(await region.brokenCheck('earlier'));
    const check = await region.brokenCheck();
    await region.noteCanary(canary, check.startedAt + 0.5);
    jest.advanceTimersByTime(100);
    region.network.connections = 'break';
    expect(await settled(region.proof.prove({ ...check, endedAt: performance.now() }))).toBe('isolated');
  });

  test('counts if its target fails again', async () => {
    await region.addCanary('canary');
    const check = await timedOutCheck();
    region.network.connections = 'work';
    region.targetWorks = false;
    expect(await settled(region.proof.prove(check))).toBeNull();
  });

  test('does not count if this process cannot probe its target again', async () => {
    await region.addCanary('canary');
    const check = await timedOutCheck();
    region.network.connections = 'work';
    region.network.names = 'lack';
    const again = { ...check, target: { ...check.target, url: 'http://site.test:1' } };
    expect(await settled(region.proof.prove(again))).toBe('doubtful');
  });

  test('does not count if the network is lost while its target is probed again', async () => {
    const canary = await region.addCanary('canary');
    const check = await timedOutCheck();
    region.network.connections = 'work';
    const { origin } = await region.servers.tcp((socket) => {
      region.network.connections = 'break';
      socket.destroy();
    });
    const again = { ...check, target: { ...check.target, url: origin } };
    expect(await settled(region.proof.prove(again), 50)).toBe('isolated');
    expect(canary.connections()).toBe(2);
  });

  test('does not count if an isolation began and ended while its target was probed again', async () => {
    await region.addCanary('canary');
    const check = await timedOutCheck();
    region.network.connections = 'work';
    let second: Socket | undefined;
    const { origin } = await region.servers.tcp((socket) => (second = socket));
    const proving = region.proof.prove({ ...check, target: { ...check.target, url: origin } });
    await advanceUntil('the target is probed again', () => second !== undefined);
    await region.isolate();
    region.network.connections = 'work';
    await region.isolationEnded();
    second?.destroy();
    expect(await settled(proving)).toBe('isolated');
  });

  test('does not count if it began in an isolation that has ended, and its target responds now', async () => {
    const canary = await region.addCanary('canary');
    await region.isolate();
    // The next round comes within a second after the check.
    jest.advanceTimersByTime(1_500);
    const check = await region.failedCheck(monitor('site', canary.origin));
    const { startedAt } = check;
    region.network.connections = 'work';
    await region.isolationEnded();
    expect(await settled(region.proof.networkOf(check))).toBe('isolated');
    region.targetWorks = false;
    const down = await region.serve(() => region.targetWorks);
    expect(
      await settled(region.proof.networkOf({ ...check, target: monitor('down', down.origin), startedAt })),
    ).toBeNull();
  });
});

describe('an isolation', () => {
  test('makes failures inconclusive at once, is reported every five seconds, and ends when a canary responds', async () => {
    const canary = await region.addCanary('canary');
    await region.isolate();
    const during = await region.failedCheck(monitor('site', canary.origin));
    expect(await region.proof.networkOf(during)).toBe('isolated');
    await advanceUntil('a second report', () => region.reports.length === 2);
    region.network.connections = 'work';
    await region.isolationEnded();
    expect((await region.rounds())['connected']).toBe(1);
    // No target is probed any more.
    const probes = canary.connections();
    jest.advanceTimersByTime(10_000);
    await delay(1);
    expect(canary.connections()).toBe(probes);
  });

  test('is reported later if Postgres is unavailable, even if it has ended, and continues with the last list of canaries', async () => {
    await region.addCanary('canary');
    expect(await region.proof.networkOf(await region.brokenCheck())).toBe('unproven');
    region.targetWorks = true;
    region.postgres = 'unavailable';
    await region.isolate();
    jest.advanceTimersByTime(6_000);
    region.network.connections = 'work';
    await advanceUntil('a canary responds', async () => (await region.rounds())['connected'] === 1);
    expect(region.reports).toEqual([]);
    region.postgres = 'available';
    await advanceUntil('the report', () => region.reports.length > 0);
    expect(region.reports).toEqual(['shop ended']);
  });

  test('ends when the account has no canaries any more', async () => {
    await region.addCanary('canary');
    await region.isolate();
    region.canaries = [];
    await region.isolationEnded();
    expect(await region.proof.networkOf(await region.brokenCheck())).toBeNull();
  });

  test('ends when a canary that was added in the meantime responds', async () => {
    await region.addCanary('down', { url: 'http://127.0.0.1:1' });
    await region.isolate();
    region.network.connections = 'work';
    await region.addCanary('up');
    await region.isolationEnded();
  });

  test('of one account does not affect another', async () => {
    await region.addCanary('canary');
    await region.addCanary('other canary', { accountId: 'bank' });
    await region.isolate();
    region.network.connections = 'work';
    const check = await region.brokenCheck('bank site', { accountId: 'bank' });
    expect(await region.proof.networkOf(check)).toBe('unproven');
    expect(await settled(region.proof.prove(check))).toBeNull();
    expect(region.reports.filter((one) => one.startsWith('bank'))).toEqual([]);
  });
});
