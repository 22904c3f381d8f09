import { afterEach, beforeEach, describe, expect, jest, test } from '@jest/globals';
import { ProbeAbortedError } from '../probe/probe.ts';
import { responding } from '../testing/local-targets.ts';
import { advanceUntil, monitor, settled, TestRegion } from '../testing/test-region.ts';

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

  test('counts if one canary of several responds, without waiting for those that hang', async () => {
    const hanging = await region.servers.tcp(() => undefined);
    region.canaries.push(monitor('hanging', hanging.origin));
    await region.addCanary('canary');
    const check = await region.brokenCheck();
    // The clock only starts the round, and never ends a probe.
    expect(await settled(region.proof.prove(check), 1)).toBeNull();
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

  test('counts in any case if it is of a canary, or of another URL than the monitor’s', async () => {
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
    const passed = { ...check, target: monitor('canary', canary.origin), startedAt: check.startedAt + 0.5 };
    const result = await region.prober.probe({
      ...passed.target,
      timeoutMs: 10_000,
      owner: { account: 'shop', resource: 'canary' },
    });
    region.proof.noteResult({ ...passed, endedAt: passed.startedAt + 1, result });
    expect(await region.proof.prove(check)).toBeNull();
    expect([canary.connections(), await region.rounds()]).toEqual([1, {}]);
    // A response to another monitor, or to another URL, proves nothing.
    const later = { ...check, startedAt: passed.startedAt };
    region.proof.noteResult({
      ...check,
      startedAt: performance.now() + 1,
      endedAt: performance.now() + 1,
      result,
    });
    region.proof.noteResult({
      ...passed,
      startedAt: performance.now() + 1,
      endedAt: performance.now() + 1,
      urlOverride: canary.origin,
      result,
    });
    jest.advanceTimersByTime(2);
    expect(await settled(region.proof.prove(later))).toBeNull();
    expect(await region.rounds()).toEqual({ connected: 2 });
  });

  test('of an account whose canaries hang do not delay those of another', async () => {
    const hanging = await region.servers.tcp(() => undefined);
    const down = await region.servers.tcp((socket) => void socket.destroy());
    await region.addCanary('canary');
    for (let index = 0; index < 10; index += 1)
      region.canaries.push(monitor(`hostile ${index}`, hanging.origin, { accountId: 'hostile' }));
    const hostile = await region.failedCheck(monitor('hostile', down.origin, { accountId: 'hostile' }));
    const stuck = Array.from({ length: 1_000 }, () => region.proof.prove(hostile).catch(() => null));
    await advanceUntil('the canaries hang', () => hanging.connections() === 10, 1);
    expect(await settled(region.proof.prove(await region.brokenCheck()), 1)).toBeNull();
    // One round at a time, however many results wait: the first has ended by now.
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

  test('checks of names do not count, and those of addresses do', async () => {
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

  test('a lookup that times out is one that failed', async () => {
    region.network.names = 'resolve';
    region.network.lookupMs = 60_000;
    const check = await region.failedCheck(monitor('site', 'http://site.test:1'), 10_000);
    expect(check.result.transportFailure).toBe('lookup');
    expect(await settled(region.proof.prove(check), 200)).toBe('isolated');
  });
});
