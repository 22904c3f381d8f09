import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { webhookPayloadSchema } from '@tocsin/contracts/deliveries/webhook';
import type { Monitor } from '@tocsin/contracts/monitors/monitor';
import { firstArrivals } from './arrivals.ts';
import { NOWHERE, recordCheck } from './record-check.ts';
import type { ServiceName, ServiceProcess } from '@tocsin/lab/service-process';
import { createSystem, type System } from '@tocsin/lab/system';
import { HttpTarget } from '@tocsin/embedded/local-web/http-target';
import { WebhookReceiver } from '@tocsin/embedded/local-web/webhook-receiver';
import { stopProcess } from '@tocsin/embedded/processes';
import { type RedisServer, startRedis } from '@tocsin/embedded/redis';
import { TestRedisCluster } from '@tocsin/embedded/testing/redis-cluster';
import { createTemporaryFolder } from '@tocsin/embedded/testing/temporary-folder';
import { until } from '@tocsin/embedded/testing/until';
import { Redis } from 'ioredis';

const FAR = 'eu-west-1';

describe('a Redis Cluster, and a separate Redis for one region', () => {
  let cluster: TestRedisCluster;
  let folder: Awaited<ReturnType<typeof createTemporaryFolder>>;
  let own: RedisServer;
  let nearTarget: HttpTarget;
  let farTarget: HttpTarget;
  let receiver: WebhookReceiver;
  let system: System;
  let near: Monitor;
  let far: Monitor;
  let services: Record<Exclude<ServiceName, 'checker'> | 'near' | 'far', ServiceProcess>;

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
    services = {
      api: system.service('api'),
      notifier: system.service('notifier'),
      near: system.service('checker'),
      far: system.service('checker', { REGION: FAR }),
    };
    await Promise.all(Object.values(services).map((one) => one.start()));
    near = await createMonitor('near', nearTarget, []);
    far = await createMonitor('far', farTarget, [FAR]);
    await system.createChannel(receiver.url('/hook'), [near.id, far.id]);
  });
  afterAll(async () => {
    await system.close();
    await Promise.all([cluster, own, nearTarget, farTarget, receiver].map((one) => one.stop()));
    await folder.remove();
  });

  function startOwn(): Promise<RedisServer> {
    return startRedis({ dataDir: join(folder.path, 'own'), appendOnly: false });
  }

  /** With the longest timeout: a check of a target that responds does not time out, even on a busy machine. */
  function createMonitor(
    name: string,
    target: HttpTarget,
    regions: string[],
    failureThreshold = 1,
  ): Promise<Monitor> {
    const url = target.url();
    return system.createMonitor({ name, url, interval: 5, timeout: 60, regions, failureThreshold });
  }

  function setTargets(status: number): void {
    for (const target of [nearTarget, farTarget]) target.status = status;
  }

  async function statusIs(status: 'UP' | 'DOWN', ...monitors: Monitor[]): Promise<void> {
    for (const { id } of monitors) await system.untilStatus(id, status);
  }

  async function trigger({ id }: Monitor): Promise<number> {
    return (await system.trigger(id)).status;
  }

  function sent(monitor: Monitor): string[] {
    return firstArrivals(receiver.received)
      .map(({ body }) => webhookPayloadSchema.parse(JSON.parse(body)))
      .filter(({ monitorId }) => monitorId === monitor.id)
      .map(({ event }) => event);
  }

  /** Waits until the near and the far checker report this readiness. */
  async function untilReady(wanted: { readonly near: boolean; readonly far: boolean }): Promise<void> {
    await until('the checkers to detect which Redis is available', async () => {
      const [isNear, isFar] = await Promise.all([services.near.isReady(), services.far.isReady()]);
      return isNear === wanted.near && isFar === wanted.far;
    });
  }

  test('each region uses its own Redis for checks, and alerts use the cluster', async () => {
    await statusIs('UP', near, far);
    expect(await Promise.all([trigger(near), trigger(far)])).toEqual([200, 200]);
    setTargets(500);
    await statusIs('DOWN', near, far);
    for (const monitor of [near, far]) {
      await until('its webhooks', () => sent(monitor).length === 2);
      expect(sent(monitor)).toEqual(['monitor.down', 'incident.created']);
    }
    const redis = new Redis(own.url);
    const queuesOf = (keys: string[]): string[] =>
      [...new Set(keys.map((key) => key.replace(/^tocsin:(\{.+\}):.*$/, '$1')))].toSorted();
    const running = `tocsin:running:${FAR}:`;
    const keys = (await redis.keys('*')).filter((key) => !key.startsWith(running));
    expect(queuesOf(keys)).toEqual([`{checks.${FAR}}`, `{triggers.${FAR}}`]);
    redis.disconnect();
    const main = (await cluster.runOnAllNodes((node) => node.keys('tocsin:{*'))).flat();
    expect(queuesOf(main)).toEqual([
      '{checks.default}',
      '{deliveries}',
      '{status-changes}',
      '{triggers.default}',
    ]);
  });

  test("when the region's Redis fails, other regions continue, and the region resumes when an empty Redis is back", async () => {
    await stopProcess(own.pid, [['SIGKILL', 5_000]]);
    setTargets(200);
    await statusIs('UP', near);
    expect(await trigger(near)).toBe(200);
    // Not `trigger`, which repeats the request after 503.
    const refused = await system.request('POST', `/api/cli/monitors/${far.id}/trigger`);
    expect(refused.status).toBe(503);
    await untilReady({ near: true, far: false });
    own = await startOwn();
    await statusIs('UP', far);
    await until('its webhooks', () => sent(far).length === 4);
  });

  test('when the cluster fails, the region continues, and alerts of its checks and of edits arrive', async () => {
    // No checker serves its region: only the test records its checks.
    const idle = await createMonitor('idle', nearTarget, [NOWHERE], 3);
    await system.createChannel(receiver.url('/hook'), [idle.id]);
    await recordCheck(system, [idle.id], 1, 'UP');
    await recordCheck(system, [idle.id], 2, 'DOWN');
    await cluster.kill(async () => true);
    await untilReady({ near: false, far: true });
    farTarget.status = 500;
    await statusIs('DOWN', far);
    await until('its webhooks', () => sent(far).length === 6);
    expect(await trigger(far)).toBe(200);
    const edited = await system.request('PUT', `/api/cli/monitors/${idle.id}`, { failureThreshold: 1 });
    expect(edited).toMatchObject({ status: 200, body: { monitor: { status: 'DOWN' } } });
    await until('its webhooks', () => sent(idle).length === 2);
    expect(sent(idle)).toEqual(['monitor.down', 'incident.created']);
    // Without its queue, a healthy monitor is not checked, and it does not become DOWN either.
    expect((await system.getMonitor(near.id)).monitor.status).toBe('UP');
  });

  test('each service ends within 30 s of SIGTERM with exit code 0 while both stores are unavailable', async () => {
    await stopProcess(own.pid, [['SIGKILL', 5_000]]);
    await untilReady({ near: false, far: false });
    const ending = Object.values(services).map((one) => one.signal('SIGTERM'));
    expect(await Promise.all(ending)).toEqual([0, 0, 0, 0]);
  });
});
