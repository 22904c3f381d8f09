import { expect, test } from '@jest/globals';
import { HttpTarget } from '@tocsin/embedded/local-web/http-target';
import { until } from '@tocsin/embedded/testing/until';
import { createSystem } from '@tocsin/lab/system';

test.each(['redis', 'postgres'] as const)(
  'a retry survives the crash of its checker, and the monitor is UP after as many passes as it requires, with the queue on %s',
  async (queue) => {
    const target = await HttpTarget.start();
    target.status = 500;
    const system = await createSystem({ queue, receiverCa: '' });
    try {
      const doomed = system.service('checker');
      await Promise.all([system.service('api'), doomed].map((one) => one.start()));
      const { id } = await system.createMonitor({
        name: 'Shop',
        url: target.url(),
        // No planned check is due during the test.
        interval: 86_400,
        timeout: 60,
        failureThreshold: 2,
        retryInterval: 5,
        recoveryThreshold: 2,
      });
      await until('the first failure', async () => (await system.getMonitor(id)).events.length > 0);
      target.hangs = true;
      await until('the retry is under way', () => target.requestCount === 2);
      await doomed.signal('SIGKILL');
      target.hangs = false;
      await system.service('checker').start();
      await system.untilStatus(id, 'DOWN');
      const { events } = await system.getMonitor(id);
      expect(events.map(({ status, source }) => `${status} ${source}`)).toEqual([
        'DOWN schedule',
        'DOWN schedule',
      ]);
      target.status = 200;
      for (const status of ['DOWN', 'UP']) {
        await system.trigger(id);
        expect((await system.getMonitor(id)).monitor.status).toBe(status);
      }
    } finally {
      await system.close();
      await target.stop();
    }
  },
);
