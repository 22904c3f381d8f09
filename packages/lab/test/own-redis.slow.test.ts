import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { webhookPayloadSchema } from '@tocsin/contracts/deliveries/webhook';
import { HttpTarget } from '@tocsin/embedded/local-web/http-target';
import { WebhookReceiver } from '@tocsin/embedded/local-web/webhook-receiver';
import { stopProcess } from '@tocsin/embedded/processes';
import { type RedisServer, startRedis } from '@tocsin/embedded/redis';
import { TestRedisCluster } from '@tocsin/embedded/testing/redis-cluster';
import { createTemporaryFolder } from '@tocsin/embedded/testing/temporary-folder';
import { until } from '@tocsin/embedded/testing/until';
import type { ServiceProcess } from '@tocsin/lab/service-process';
import { createSystem, type System } from '@tocsin/lab/system';
import { Redis } from 'ioredis';
import { firstArrivals } from './arrivals.ts';
import { NOWHERE, recordCheck } from './record-check.ts';

const FAR = 'eu-west-1';

let cluster: TestRedisCluster;
let folder: Awaited<ReturnType<typeof createTemporaryFolder>>;
/** Redis of one region. Everything else uses the cluster. */
let own: RedisServer;
let nearTarget: HttpTarget;
let farTarget: HttpTarget;
let receiver: WebhookReceiver;
let system: System;
let near: string;
let far: string;
let checkers: { readonly near: ServiceProcess; readonly far: ServiceProcess };

beforeAll(async () => {
  [cluster, folder, nearTarget, farTarget, receiver] = await Promise.all([
    TestRedisCluster.start(),
    createTemporaryFolder(),
    HttpTarget.start(),
    HttpTarget.start(),
    WebhookReceiver.start(),
  ]);
  own = await startOwn();
  system = await createSystem({
    queue: { url: cluster.url },
    receiverCa: receiver.ca,
    env: { QUEUE_URL_EU_WEST_1: own.url },
  });
  checkers = { near: system.service('checker'), far: system.service('checker', { REGION: FAR }) };
  const others = [system.service('api'), system.service('notifier')];
  await Promise.all([checkers.near, checkers.far, ...others].map((one) => one.start()));
  near = await createMonitor(nearTarget, []);
  far = await createMonitor(farTarget, [FAR]);
});
afterAll(async () => {
  await system.close();
  await Promise.all([cluster, own, nearTarget, farTarget, receiver].map((one) => one.stop()));
  await folder.remove();
});

function startOwn(): Promise<RedisServer> {
  return startRedis({ dataDir: join(folder.path, 'own'), appendOnly: false });
}

/**
 * Creates a monitor with a channel. It has the longest timeout, so a check of a target that responds does not time out, even on a busy
 * machine.
 */
async function createMonitor(target: HttpTarget, regions: string[], failureThreshold = 1): Promise<string> {
  const fields = { name: 'Monitor', url: target.url(), interval: 5, timeout: 60, regions, failureThreshold };
  const { id } = await system.createMonitor(fields);
  await system.createChannel(receiver.url('/hook'), [id]);
  return id;
}

const trigger = async (id: string): Promise<number> => (await system.trigger(id)).status;

/** Waits for the alerts about a monitor. */
async function untilSent(id: string, ...wanted: string[]): Promise<void> {
  const sent = (): string[] =>
    firstArrivals(receiver.received)
      .map(({ body }) => webhookPayloadSchema.parse(JSON.parse(body)))
      .filter(({ monitorId }) => monitorId === id)
      .map(({ event }) => event);
  await until('its webhooks', () => sent().length >= wanted.length);
  expect(sent()).toEqual(wanted);
}

const OUTAGE = ['monitor.down', 'incident.created'];
const RECOVERY = ['monitor.up', 'incident.resolved'];

test('each region uses its own Redis for checks, and alerts use the cluster', async () => {
  for (const id of [near, far]) await system.untilStatus(id, 'UP');
  expect(await Promise.all([trigger(near), trigger(far)])).toEqual([200, 200]);
  for (const target of [nearTarget, farTarget]) target.status = 500;
  for (const id of [near, far]) await untilSent(id, ...OUTAGE);
  const redis = new Redis(own.url);
  const queuesOf = (keys: string[]): string[] =>
    [...new Set(keys.map((key) => key.replace(/^tocsin:(\{.+\}):.*$/, '$1')))].toSorted();
  const running = `tocsin:running:${FAR}:`;
  const keys = (await redis.keys('*')).filter((key) => !key.startsWith(running));
  redis.disconnect();
  expect(queuesOf(keys)).toEqual([`{checks.${FAR}}`, `{triggers.${FAR}}`]);
  const main = (await cluster.runOnAllNodes((node) => node.keys('tocsin:{*'))).flat();
  const others = ['{checks.default}', '{deliveries}', '{status-changes}', '{triggers.default}'];
  expect(queuesOf(main)).toEqual(others);
});

test("when the region's Redis fails, other regions continue, and the region resumes when an empty Redis is back", async () => {
  await stopProcess(own.pid, [['SIGKILL', 5_000]]);
  for (const target of [nearTarget, farTarget]) target.status = 200;
  await untilSent(near, ...OUTAGE, ...RECOVERY);
  expect(await trigger(near)).toBe(200);
  // `trigger` is not used here, because it repeats the request after 503.
  const refused = await system.request('POST', `/api/cli/monitors/${far}/trigger`);
  expect(refused.status).toBe(503);
  own = await startOwn();
  await untilSent(far, ...OUTAGE, ...RECOVERY);
});

test('when the cluster fails, the region continues, and alerts caused by its checks and by edits arrive', async () => {
  // No checker serves this region, so only the test records its checks.
  const idle = await createMonitor(nearTarget, [NOWHERE], 3);
  await recordCheck(system, [idle], 1, 'UP');
  await recordCheck(system, [idle], 2, 'DOWN');
  await cluster.kill(async () => true);
  await until('only the near checker to miss its Redis', async () => {
    const [isNear, isFar] = await Promise.all([checkers.near.isReady(), checkers.far.isReady()]);
    return !isNear && isFar;
  });
  farTarget.status = 500;
  await untilSent(far, ...OUTAGE, ...RECOVERY, ...OUTAGE);
  expect(await trigger(far)).toBe(200);
  const edited = await system.request('PUT', `/api/cli/monitors/${idle}`, { failureThreshold: 1 });
  expect(edited).toMatchObject({ status: 200, body: { monitor: { status: 'DOWN' } } });
  await untilSent(idle, ...OUTAGE);
  // Without its queue, a healthy monitor is not checked, and it does not become DOWN either.
  expect((await system.getMonitor(near)).monitor.status).toBe('UP');
});
