import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { webhookPayloadSchema } from '@tocsin/contracts/deliveries/webhook';
import { HttpTarget } from '@tocsin/embedded/local-web/http-target';
import { WebhookReceiver } from '@tocsin/embedded/local-web/webhook-receiver';
import { type RedisServer, startRedis } from '@tocsin/embedded/redis';
import { createTemporaryFolder } from '@tocsin/embedded/testing/temporary-folder';
import { until } from '@tocsin/embedded/testing/until';
import type { ServiceProcess } from '@tocsin/lab/service-process';
import { createSystem, type System } from '@tocsin/lab/system';
import { Client } from 'pg';
import { firstArrivals, untilLogged } from './arrivals.ts';
import { NOWHERE, recordCheck } from './record-check.ts';

let target: HttpTarget;
let receiver: WebhookReceiver;
let system: System;
let folder: Awaited<ReturnType<typeof createTemporaryFolder>>;
/** Only the notifier and one checker use it. */
let redis: RedisServer;
let notifier: ServiceProcess;
/** Monitor whose checks only the test records. */
let idleId: string;
/** Checker that serves the api's monitors after the others were killed. */
let checker: ServiceProcess;

beforeAll(async () => {
  [target, receiver, folder] = await Promise.all([
    HttpTarget.start({ hangs: true }),
    WebhookReceiver.start(),
    createTemporaryFolder(),
  ]);
  redis = await startRedis({ dataDir: folder.path, appendOnly: false });
  system = await createSystem({ queue: 'redis', receiverCa: receiver.ca });
  notifier = system.service('notifier', { QUEUE_URL: redis.url });
  await system.service('api').start();
});
afterAll(async () => {
  await system.close();
  process.kill(redis.pid, 'SIGCONT');
  await redis.stop();
  await Promise.all([target.stop(), receiver.stop(), folder.remove()]);
});

test('a status change is delivered once when a notifier starts after it', async () => {
  const fields = { name: 'Idle', url: target.url(), interval: 86_400, regions: [NOWHERE] };
  idleId = (await system.createMonitor(fields)).id;
  await system.createChannel(receiver.url(), [idleId]);
  await recordCheck(system, [idleId], 1, 'DOWN');
  await notifier.start();
  await until('both webhooks', () => firstArrivals(receiver.received).length === 2);
  const kinds = firstArrivals(receiver.received).map(
    ({ body }) => webhookPayloadSchema.parse(JSON.parse(body)).event,
  );
  expect(kinds).toEqual(['monitor.down', 'incident.created']);
  await untilLogged(system.context, receiver.received);
});

test('a status change is delivered while Redis hangs', async () => {
  process.kill(redis.pid, 'SIGSTOP');
  await until('the notifier to miss Redis', async () => !(await notifier.isReady()));
  await recordCheck(system, [idleId], 2, 'UP');
  await until('both webhooks', () => firstArrivals(receiver.received).length === 4);
  process.kill(redis.pid, 'SIGCONT');
  await until('the notifier to reach Redis', () => notifier.isReady());
});

test('a check that kills its checker twice is abandoned', async () => {
  const fields = { name: 'Deadly', url: target.url(), interval: 86_400, timeout: 60 };
  const { id } = await system.createMonitor(fields);
  for (const runs of [1, 2]) {
    const doomed = system.service('checker');
    await doomed.start();
    await until(`run ${runs}`, () => target.requestCount === runs);
    await doomed.signal('SIGKILL');
  }
  checker = system.service('checker');
  await checker.start();
  const abandoned = /^tocsin_checks_skipped_total\{region="default",reason="crashed"\} 1$/m;
  await until('the check to be abandoned', async () => abandoned.test(await checker.metrics()));
  expect((await system.getMonitor(id)).events).toEqual([]);
  expect(target.requestCount).toBe(2);
});

test('services end within 30 s of SIGTERM, with exit code 0, while Redis hangs or Postgres records no result', async () => {
  const idle = system.service('checker', { QUEUE_URL: redis.url });
  await idle.start();
  const holder = new Client({ connectionString: system.databaseUrl });
  await holder.connect();
  // While this lock is held, no check can be recorded, and the checker tries again.
  await holder.query('begin; lock table events in access exclusive mode');
  const before = target.requestCount;
  await system.request('POST', '/api/cli/monitors', { name: 'Shop', url: target.url() });
  await until('a check', () => target.requestCount > before);
  // Both shutdowns take most of the 30 s, so they run at the same time.
  const withoutResult = checker.signal('SIGTERM');
  target.release();
  process.kill(redis.pid, 'SIGSTOP');
  // A service that is not ready has sent a command to Redis and waits for the response.
  for (const one of [idle, notifier]) {
    await until(`the ${one.name} to miss Redis`, async () => !(await one.isReady()));
  }
  expect(await Promise.all([idle, notifier].map((one) => one.signal('SIGTERM')))).toEqual([0, 0]);
  expect(await withoutResult).toBe(0);
  // The notifier has ended, so no further webhook can arrive.
  expect(firstArrivals(receiver.received)).toHaveLength(4);
  await holder.end();
});
