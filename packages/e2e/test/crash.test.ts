import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { webhookPayloadSchema } from '@tocsin/contracts/webhook';
import { recordChecks } from '@tocsin/db/checks/record-checks';
import type { CheckRecord } from '@tocsin/db/checks/check-record';
import { createSystem, type System } from '@tocsin/e2e/system';
import { until } from '@tocsin/embedded/testing/until';
import { HttpTarget } from '@tocsin/embedded/local-web/http-target';
import { WebhookReceiver } from '@tocsin/embedded/local-web/webhook-receiver';
import { startRedis } from '@tocsin/embedded/redis';
import { createTemporaryFolder } from '@tocsin/embedded/testing/temporary-folder';
import { Client } from 'pg';

let target: HttpTarget;
let receiver: WebhookReceiver;
let system: System;

beforeEach(async () => {
  [target, receiver] = await Promise.all([HttpTarget.start(), WebhookReceiver.start()]);
  system = await createSystem({ queue: 'redis', receiverCa: receiver.ca });
});
afterEach(async () => {
  await system.close();
  await Promise.all([target.stop(), receiver.stop()]);
});

function kinds(): string[] {
  return receiver.received.map(({ body }) => webhookPayloadSchema.parse(JSON.parse(body)).event);
}

/** A result as a checker records it: for monitors whose schedule a test does not want to wait for. */
function failing(monitorId: string, slot: number): CheckRecord {
  return {
    monitorId,
    region: 'default',
    revision: 1,
    slot,
    source: 'schedule',
    triggerId: null,
    urlOverride: null,
    status: 'DOWN',
    latencyMs: 5,
    statusCode: 500,
    errorReason: 'HTTP_500',
    errorDetail: null,
    timings: { dns: null, tcp: 1, tls: null, firstByte: 1, download: null },
    certificateExpiresAt: null,
  };
}

/** A monitor that nothing but the test checks. */
async function idleMonitor(fields: Record<string, unknown> = {}): Promise<string> {
  const monitor = await system.createMonitor({
    name: 'Idle',
    url: target.url(),
    interval: 86_400,
    regions: ['nowhere'],
    ...fields,
  });
  return monitor.id;
}

async function fail(monitorId: string, slot = 1): Promise<void> {
  await recordChecks(system.context.db, [{ ...failing(monitorId, slot), region: 'nowhere' }]);
}

describe('no alert is lost', () => {
  test('a status change of while no notifier ran is delivered when one starts, once', async () => {
    await system.service('api').start();
    const id = await idleMonitor();
    await system.createChannel(receiver.url(), [id]);
    await fail(id);
    await system.service('notifier').start();
    await until('both webhooks', () => receiver.received.length === 2);
    expect(kinds()).toEqual(['monitor.down', 'incident.created']);
  }, 60_000);

  test('alerts flow while Redis is gone', async () => {
    const folder = await createTemporaryFolder();
    const redis = await startRedis({ dataDir: folder.path, appendOnly: false });
    try {
      const env = { QUEUE_URL: redis.url };
      const api = system.service('api', env);
      await Promise.all([api.start(), system.service('notifier', env).start()]);
      const id = await idleMonitor({ failureThreshold: 3 });
      await system.createChannel(receiver.url(), [id]);
      await recordChecks(system.context.db, [
        { ...failing(id, 1), region: 'nowhere', status: 'UP', errorReason: null, statusCode: 200 },
      ]);
      await fail(id, 2);
      await redis.stop();
      const updated = await system.request('PUT', `/api/cli/monitors/${id}`, { failureThreshold: 1 });
      expect(updated).toMatchObject({ status: 200, body: { monitor: { status: 'DOWN' } } });
      await until('both webhooks', () => receiver.received.length === 2);
      expect(kinds()).toEqual(['monitor.down', 'incident.created']);
    } finally {
      await redis.stop();
      await folder.remove();
    }
  }, 60_000);
});

describe('a service ends within 30 s of SIGTERM, with exit code 0,', () => {
  test('while Redis is gone', async () => {
    const folder = await createTemporaryFolder();
    const redis = await startRedis({ dataDir: folder.path, appendOnly: false });
    try {
      const env = { QUEUE_URL: redis.url };
      const services = [
        system.service('api', env),
        system.service('checker', env),
        system.service('notifier', env),
      ];
      await Promise.all(services.map((service) => service.start()));
      await redis.stop();
      const codes = await Promise.all(services.map((service) => service.signal('SIGTERM')));
      expect(codes).toEqual([0, 0, 0]);
    } finally {
      await redis.stop();
      await folder.remove();
    }
  }, 60_000);

  test('while Redis hangs', async () => {
    const folder = await createTemporaryFolder();
    const redis = await startRedis({ dataDir: folder.path, appendOnly: false });
    try {
      const env = { QUEUE_URL: redis.url };
      const services = [system.service('checker', env), system.service('notifier', env)];
      await Promise.all(services.map((service) => service.start()));
      process.kill(redis.pid, 'SIGSTOP');
      const codes = await Promise.all(services.map((service) => service.signal('SIGTERM')));
      expect(codes).toEqual([0, 0]);
    } finally {
      process.kill(redis.pid, 'SIGCONT');
      await redis.stop();
      await folder.remove();
    }
  }, 60_000);

  test('while Postgres takes no result', async () => {
    await system.service('api').start();
    const checker = system.service('checker');
    await checker.start();
    const holder = new Client({ connectionString: system.databaseUrl });
    await holder.connect();
    await holder.query('begin');
    // As long as this is held, every recording waits and is tried again.
    await holder.query('lock table events in access exclusive mode');
    await system.request('POST', '/api/cli/monitors', { name: 'Shop', url: target.url() });
    await until('a check that is not recorded', () => target.requests.size > 0);
    expect(await checker.signal('SIGTERM')).toBe(0);
    await holder.end();
  }, 60_000);
});

describe('no monitor stays unchecked', () => {
  test('a check that kills its checker is run twice, and then given up', async () => {
    await system.service('api').start();
    target.hangs = true;
    const monitor = await system.createMonitor({
      name: 'Deadly',
      url: target.url('/deadly'),
      interval: 86_400,
      timeout: 60,
    });
    for (const runs of [1, 2]) {
      const doomed = system.service('checker');
      await doomed.start();
      await until(`run ${runs}`, () => target.requests.get('/deadly') === runs, 30_000);
      await doomed.signal('SIGKILL');
    }
    const { healthPort } = await system.service('checker').start();
    const givenUp = /^tocsin_checks_skipped_total\{region="default",reason="crashed"\} 1$/m;
    await until(
      'the check to be given up',
      async () => givenUp.test(await (await fetch(`http://127.0.0.1:${Number(healthPort)}/metrics`)).text()),
      30_000,
    );
    expect((await system.getMonitor(monitor.id)).events).toEqual([]);
  }, 120_000);

  test('each service ends cleanly at SIGTERM, and a check under way is recorded before', async () => {
    const { api, checker, notifier } = await system.startAll();
    const monitor = await system.createMonitor({ name: 'Shop', url: target.url(), interval: 3_600 });
    await until('the first request', () => target.requests.size > 0);
    expect(await checker.signal('SIGTERM')).toBe(0);
    const { events } = await system.getMonitor(monitor.id);
    expect(events).toHaveLength(1);
    expect(await notifier.signal('SIGTERM')).toBe(0);
    expect(await api.signal('SIGTERM')).toBe(0);
  }, 60_000);
});
