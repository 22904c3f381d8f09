import type { Socket } from 'node:net';
import { afterEach, beforeEach, describe, expect, jest, test } from '@jest/globals';
import { advanceUntil, monitor, settled, TestRegion } from '../testing/test-region.ts';
import type { ProbedCheck } from './network-proof.ts';

let region: TestRegion;
beforeEach(() => {
  region = TestRegion.start();
});
afterEach(() => region.close());

describe('a check that the network may have failed until shortly before the proof', () => {
  /** A check that timed out after ten seconds, in which a hanging network may have come back. */
  async function timedOutCheck(): Promise<ProbedCheck> {
    const server = await region.serve(() => region.targetWorks);
    region.network.connections = 'hang';
    return region.failedCheck(monitor('site', server.origin), 10_000);
  }

  test('does not count if it failed at once and its target responds now', async () => {
    await region.addCanary('canary');
    const check = await region.brokenCheck();
    region.targetWorks = true;
    expect(await settled(region.proof.prove(check), 1)).toBe('isolated');
  });

  test('does not count if its target responds now', async () => {
    await region.addCanary('canary');
    const check = await timedOutCheck();
    region.network.connections = 'work';
    expect(await settled(region.proof.prove(check), 1)).toBe('isolated');
    expect(region.reports).toEqual([]);
  });

  test('does not count if a canary responded only after its packets were repeated', async () => {
    const named = await region.addCanary('named');
    region.canaries = [monitor('named', `http://canary.test:${named.port}`)];
    region.network.lookupMs = 1_500;
    const check = await region.brokenCheck();
    region.targetWorks = true;
    expect(await settled(region.proof.prove(check))).toBe('isolated');
  });

  test('does not count because a canary responded early in the check', async () => {
    await region.addCanary('canary');
    const earlier = await region.brokenCheck('earlier');
    expect(await settled(region.proof.prove(earlier), 1)).toBeNull();
    region.targetWorks = true;
    const check = await timedOutCheck();
    region.network.connections = 'work';
    expect(await settled(region.proof.prove({ ...check, startedAt: earlier.startedAt }), 1)).toBe('isolated');
  });

  test('counts if its target fails again', async () => {
    await region.addCanary('canary');
    const check = await timedOutCheck();
    region.network.connections = 'work';
    region.targetWorks = false;
    expect(await settled(region.proof.prove(check))).toBeNull();
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
