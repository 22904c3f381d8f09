import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { HttpTarget } from '@tocsin/embedded/local-web/http-target';
import { until } from '@tocsin/embedded/testing/until';
import { createSystem, type System } from '@tocsin/lab/system';
import type { ServiceProcess } from '@tocsin/lab/service-process';

/** No planned check of these monitors is due during the test. */
const DAY = 86_400;

describe.each(['redis', 'postgres'] as const)('retries, with the queue on %s', (queue) => {
  let target: HttpTarget;
  let system: System;
  let checker: ServiceProcess;
  beforeAll(async () => {
    target = await HttpTarget.start();
    system = await createSystem({ queue, receiverCa: '-----BEGIN CERTIFICATE-----' });
    checker = system.service('checker');
    await Promise.all([system.service('api'), checker].map((one) => one.start()));
  });
  afterAll(async () => {
    await system.close();
    await target.stop();
  });

  const createMonitor = (name: string) =>
    system.createMonitor({
      name,
      url: target.url(`/${name}`),
      interval: DAY,
      timeout: 60,
      failureThreshold: 3,
      retryInterval: 5,
      recoveryThreshold: 2,
    });

  test('a failing monitor is DOWN long before its next slot, and UP after as many passes as it requires', async () => {
    target.status = 500;
    const { id } = await createMonitor('shop');
    await system.untilStatus(id, 'DOWN');
    const { events } = await system.getMonitor(id);
    expect(events.map(({ status, source }) => [status, source])).toEqual(
      Array.from({ length: 3 }, () => ['DOWN', 'schedule']),
    );
    target.status = 200;
    const statuses: string[] = [];
    for (let passes = 1; passes <= 2; passes += 1) {
      expect((await system.request('POST', `/api/cli/monitors/${id}/trigger`)).status).toBe(200);
      statuses.push((await system.getMonitor(id)).monitor.status);
    }
    expect(statuses).toEqual(['DOWN', 'UP']);
    expect(target.requests.get('/shop')).toBe(5);
  });

  test('a retry survives the crash of its checker', async () => {
    target.status = 500;
    const { id } = await createMonitor('crashed');
    await until('the first failure', async () => (await system.getMonitor(id)).events.length > 0);
    await checker.signal('SIGKILL');
    checker = system.service('checker');
    await checker.start();
    await system.untilStatus(id, 'DOWN');
    const { events } = await system.getMonitor(id);
    expect(events.map(({ status }) => status)).toEqual(['DOWN', 'DOWN', 'DOWN']);
  });
});
