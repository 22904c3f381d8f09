import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { Monitor } from '@tocsin/contracts/monitor';
import { webhookPayloadSchema } from '@tocsin/contracts/webhook';
import { createSystem, type System } from '@tocsin/e2e/system';
import { until } from '@tocsin/embedded/testing/until';
import { HttpTarget } from '@tocsin/embedded/local-web/http-target';
import { WebhookReceiver } from '@tocsin/embedded/local-web/webhook-receiver';
import { stopProcess } from '@tocsin/embedded/processes';
import { startRedis, type RedisServer } from '@tocsin/embedded/redis';
import { TestRedisCluster } from '@tocsin/embedded/testing/redis-cluster';
import { createTemporaryFolder } from '@tocsin/embedded/testing/temporary-folder';
import { Redis } from 'ioredis';

const FAR = 'eu-west-1';

describe('a Redis Cluster for all, and a Redis of its own for one region', () => {
  let cluster: TestRedisCluster;
  let folder: Awaited<ReturnType<typeof createTemporaryFolder>>;
  let own: RedisServer;
  let target: HttpTarget;
  let receiver: WebhookReceiver;
  let system: System;
  let near: Monitor;
  let far: Monitor;
  const ready = new Map<string, number>();

  beforeAll(async () => {
    [cluster, folder, target, receiver] = await Promise.all([
      TestRedisCluster.start(),
      createTemporaryFolder(),
      HttpTarget.start(),
      WebhookReceiver.start(),
    ]);
    own = await startOwn();
    system = await createSystem({
      queue: { url: cluster.url },
      receiverCa: receiver.ca,
      env: { QUEUE_URL_EU_WEST_1: own.url },
    });
    const checkers = {
      default: system.service('checker'),
      [FAR]: system.service('checker', { REGION: FAR }),
    };
    const others = [system.service('api').start(), system.service('notifier').start()];
    for (const [region, checker] of Object.entries(checkers)) {
      ready.set(region, Number((await checker.start())['healthPort']));
    }
    await Promise.all(others);
    near = await createMonitor('near', []);
    far = await createMonitor('far', [FAR]);
    await system.createChannel(receiver.url('/hook'), [near.id, far.id]);
  }, 60_000);
  afterAll(async () => {
    await system.close();
    await Promise.all([cluster.stop(), own.stop(), target.stop(), receiver.stop()]);
    await folder.remove();
  });

  function startOwn(): Promise<RedisServer> {
    return startRedis({ dataDir: join(folder.path, 'own'), appendOnly: false });
  }

  function createMonitor(name: string, regions: string[]): Promise<Monitor> {
    return system.createMonitor({ name, url: target.url(`/${name}`), interval: 5, timeout: 2, regions });
  }

  async function statusIs(status: string, ...monitors: Monitor[]): Promise<void> {
    for (const { id, name } of monitors) {
      const isSo = async (): Promise<boolean> => (await system.getMonitor(id)).monitor.status === status;
      await until(`${name} to be ${status}`, isSo);
    }
  }

  async function trigger({ id }: Monitor): Promise<number> {
    return (await system.request('POST', `/api/cli/monitors/${id}/trigger`)).status;
  }

  function sent(monitor: Monitor): string[] {
    return receiver.received
      .map(({ body }) => webhookPayloadSchema.parse(JSON.parse(body)))
      .filter(({ monitorId }) => monitorId === monitor.id)
      .map(({ event }) => event);
  }

  async function readiness(region: string): Promise<number> {
    return (await fetch(`http://127.0.0.1:${ready.get(region)}/readyz`)).status;
  }

  test('each region is scheduled, checked and triggered from its own, and alerts go through the main one', async () => {
    await statusIs('UP', near, far);
    expect(await Promise.all([trigger(near), trigger(far)])).toEqual([200, 200]);
    target.status = 500;
    await statusIs('DOWN', near, far);
    for (const monitor of [near, far]) {
      await until('its webhooks', () => sent(monitor).length === 2);
      expect(sent(monitor)).toEqual(['monitor.down', 'incident.created']);
    }
    const redis = new Redis(own.url);
    const queuesOf = (keys: string[]): string[] =>
      [...new Set(keys.map((key) => key.replace(/^tocsin:(\{.+\}):.*$/, '$1')))].toSorted();
    expect(queuesOf(await redis.keys('*'))).toEqual([`{checks.${FAR}}`, `{triggers.${FAR}}`]);
    redis.disconnect();
    const main = (await cluster.ask((node) => node.keys('tocsin:{*'))).flat();
    expect(queuesOf(main)).toEqual([
      '{checks.default}',
      '{deliveries}',
      '{status-changes}',
      '{triggers.default}',
    ]);
  }, 60_000);

  test("the region's own is lost: the others go on, and when it is back, empty, so does the region", async () => {
    await stopProcess(own.pid, [['SIGKILL', 5_000]]);
    target.status = 200;
    await statusIs('UP', near);
    expect(await Promise.all([trigger(near), trigger(far)])).toEqual([200, 503]);
    expect(await Promise.all([readiness('default'), readiness(FAR)])).toEqual([200, 503]);
    own = await startOwn();
    await statusIs('UP', far);
    await until('its webhooks', () => sent(far).length === 4);
  }, 60_000);

  test('the main one is lost: the region goes on, and its alerts arrive', async () => {
    await cluster.kill(async () => true);
    target.status = 500;
    await statusIs('DOWN', far);
    await until('its webhooks', () => sent(far).length === 6);
    expect(await trigger(far)).toBe(200);
    expect(await Promise.all([readiness('default'), readiness(FAR)])).toEqual([503, 200]);
    expect((await system.getMonitor(near.id)).monitor.status).toBe('UP');
  }, 60_000);
});
