import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { claimDeliveries } from '@tocsin/db/deliveries/claim-deliveries';
import { createTestDelivery } from '@tocsin/db/deliveries/create-test-delivery';
import { findTestOutcome } from '@tocsin/db/deliveries/find-test-outcome';
import { getDelivery } from '@tocsin/db/deliveries/get-delivery';
import { redeliver } from '@tocsin/db/deliveries/redeliver';
import { updateChannel } from '@tocsin/db/channels/update-channel';
import { ADMIN_ENV, signIn } from '@tocsin/e2e/dashboard-session';
import { createSystem, type System } from '@tocsin/e2e/system';
import { until } from '@tocsin/embedded/testing/until';
import { WebhookReceiver } from '@tocsin/embedded/local-web/webhook-receiver';
import { Webhook } from 'standardwebhooks';

describe('a channel and a real notifier', () => {
  let receiver: WebhookReceiver;
  let system: System;

  beforeAll(async () => {
    receiver = await WebhookReceiver.start();
    system = await createSystem({ queue: 'redis', receiverCa: receiver.ca });
    await system.service('notifier').start();
  }, 60_000);
  afterAll(async () => {
    await system.close();
    await receiver.stop();
  });

  /** Without a hint, as where the queue's store is away: the relay finds it. */
  async function testOf(channelId: string): Promise<string> {
    const { db, accountId } = system.context;
    return createTestDelivery(db, accountId, channelId, 'default');
  }

  test('a test event reaches even a disabled channel, signed, once, whatever comes of it', async () => {
    const { db, accountId } = system.context;
    const { id: channelId, secret } = await system.createChannel(receiver.url('/test'), []);
    await updateChannel(db, accountId, channelId, { enabled: false });
    receiver.answer = (_, response) => {
      response.writeHead(503).end('closed');
    };
    const failed = await testOf(channelId);
    const outcome = await until('an outcome', () => findTestOutcome(db, failed));
    expect(outcome).toMatchObject({
      delivered: false,
      attempt: { statusCode: 503, error: 'answered 503', responseExcerpt: 'closed' },
    });
    receiver.answer = (_, response) => {
      response.writeHead(204).end();
    };
    const passed = await testOf(channelId);
    expect(await until('an outcome', () => findTestOutcome(db, passed))).toMatchObject({ delivered: true });
    expect(receiver.received.map((webhook) => webhook.headers['webhook-id'])).toEqual([failed, passed]);
    expect(await getDelivery(db, accountId, failed)).toMatchObject({
      state: 'failed',
      nextAttemptAt: null,
      attempts: [{ number: 1 }],
    });
    const [, last] = receiver.received;
    expect(last?.headers).toMatchObject({ 'user-agent': 'Service/1.0', 'content-type': 'application/json' });
    const payload = new Webhook(secret).verify(last?.body ?? '', last?.headers as Record<string, string>);
    expect(payload).toMatchObject({
      event: 'monitor.up',
      monitorId: 'test',
      monitorName: 'test',
      status: 'UP',
    });
    expect(await claimDeliveries(system.context, { limit: 10 })).toEqual([]);
  }, 60_000);

  test('a redelivered event is sent again, the same to the byte, and its log goes on', async () => {
    const { db, accountId } = system.context;
    const { id: channelId } = await system.createChannel(receiver.url('/again'), []);
    const id = await testOf(channelId);
    await until('the first attempt', () => findTestOutcome(db, id));
    await redeliver(db, accountId, id);
    const delivery = await until('the second attempt', async () => {
      const found = await getDelivery(db, accountId, id);
      return found.attemptCount === 2 && found;
    });
    expect(delivery).toMatchObject({ state: 'delivered', attempts: [{ number: 1 }, { number: 2 }] });
    const sent = receiver.received.filter((webhook) => webhook.headers['webhook-id'] === id);
    expect(sent.map((webhook) => webhook.body)).toEqual([delivery.payload, delivery.payload]);
  }, 60_000);

  test('the dashboard tests a channel through the queue, and shows who serves which region', async () => {
    const api = system.service('api', ADMIN_ENV);
    await api.start();
    const request = await signIn(api);
    const created = await request('POST', '/channels', {
      name: 'Ops',
      url: receiver.url('/dashboard'),
      monitorIds: [],
      allMonitors: true,
    });
    expect(created.status).toBe(201);
    const { channel, secret } = (await created.json()) as { channel: { id: string }; secret: string };
    const tested = await request('POST', `/channels/${channel.id}/test`);
    expect([tested.status, await tested.json()]).toEqual([
      200,
      { delivered: true, attempt: expect.objectContaining({ statusCode: 204, error: null }) },
    ]);
    const sent = receiver.received.find((webhook) => webhook.path === '/dashboard');
    expect(() =>
      new Webhook(secret).verify(sent?.body ?? '', sent?.headers as Record<string, string>),
    ).not.toThrow();
    await system.createMonitor({ name: 'Shop', url: 'http://127.0.0.1:1/', interval: 3_600 });
    const regions = async (): Promise<unknown> => (await request('GET', '/regions')).json();
    expect(await regions()).toMatchObject({
      regions: [{ region: 'default', workers: 0, monitors: 1, served: false }],
    });
    await system.service('checker').start();
    await until('the region to be served', async () => {
      const { regions: found } = (await regions()) as { regions: { workers: number; served: boolean }[] };
      return found[0]?.workers === 1 && found[0].served;
    });
    const metrics = await (await fetch(`http://127.0.0.1:${api.port}/metrics`)).text();
    expect(metrics).toContain('tocsin_region_monitors{region="default"} 1');
    expect(metrics).toContain('tocsin_region_workers{region="default"} 1');
  }, 60_000);
});
