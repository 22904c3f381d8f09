import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, jest, test } from '@jest/globals';
import { advanceUntil, monitor, settled, TestRegion } from '../testing/test-region.ts';

let region: TestRegion;
beforeEach(() => {
  region = TestRegion.start();
});
afterEach(() => region.close());

describe('an isolation', () => {
  test('makes failures inconclusive at once, and ends when a canary responds', async () => {
    const canary = await region.addCanary('canary');
    await region.isolate();
    const during = await region.failedCheck(monitor('site', canary.origin));
    expect(await region.proof.networkOf(during)).toBe('isolated');
    region.network.connections = 'work';
    await region.isolationEnded();
    expect((await region.rounds())['connected']).toBe(1);
    // Nothing is probed any more.
    const probes = canary.connections();
    jest.advanceTimersByTime(10_000);
    await delay(1);
    expect(canary.connections()).toBe(probes);
  });

  test('is reported every five seconds', async () => {
    await region.addCanary('canary');
    await region.isolate();
    for (const count of [2, 3]) {
      await advanceUntil('another report', () => region.reports.length === count);
    }
    expect(region.reports).toEqual(['shop isolated', 'shop isolated', 'shop isolated']);
  });

  test('is reported later if Postgres is unavailable, even if it has ended, and goes on with the last list of canaries', async () => {
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

  test('ends with a canary that was added meanwhile', async () => {
    await region.addCanary('down', { url: 'http://127.0.0.1:1' });
    await region.isolate();
    region.network.connections = 'work';
    await region.addCanary('up');
    await region.isolationEnded();
  });

  test('of one account is none of another', async () => {
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
