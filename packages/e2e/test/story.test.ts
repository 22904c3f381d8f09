import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { Event } from '@tocsin/contracts/event';
import { webhookPayloadSchema, type WebhookPayload } from '@tocsin/contracts/webhook';
import { createSystem, type System } from '@tocsin/e2e/system';
import { until } from '@tocsin/embedded/testing/until';
import { HttpTarget } from '@tocsin/embedded/local-web/http-target';
import { WebhookReceiver } from '@tocsin/embedded/local-web/webhook-receiver';
import { Webhook } from 'standardwebhooks';

describe.each(['redis', 'postgres'] as const)('the main job, end to end, with the queue on %s', (queue) => {
  let target: HttpTarget;
  let receiver: WebhookReceiver;
  let system: System;

  beforeAll(async () => {
    [target, receiver] = await Promise.all([HttpTarget.start(), WebhookReceiver.start()]);
    system = await createSystem({ queue, receiverCa: receiver.ca });
    await system.startAll();
  }, 60_000);
  afterAll(async () => {
    await system.close();
    await Promise.all([target.stop(), receiver.stop()]);
  });

  async function statusIs(id: string, status: string): Promise<void> {
    await until(`status ${status}`, async () => (await system.getMonitor(id)).monitor.status === status);
  }

  function payloads(): WebhookPayload[] {
    return receiver.received.map(({ body }) => webhookPayloadSchema.parse(JSON.parse(body)));
  }

  test('a monitor goes PENDING, UP, DOWN, UP, and its webhooks arrive over HTTPS', async () => {
    const monitor = await system.createMonitor({
      name: 'Shop',
      url: target.url('/health'),
      interval: 5,
      timeout: 2,
      runbookUrl: 'https://runbooks.example/shop',
    });
    const { secret } = await system.createChannel(receiver.url('/hook'), [monitor.id]);
    expect(monitor.status).toBe('PENDING');
    // At once: the first check does not wait for its slot.
    await statusIs(monitor.id, 'UP');
    target.status = 500;
    await statusIs(monitor.id, 'DOWN');
    await until('two webhooks', () => receiver.received.length >= 2);
    target.status = 200;
    await statusIs(monitor.id, 'UP');
    await until('four webhooks', () => receiver.received.length >= 4);

    const { events } = await system.getMonitor(monitor.id);
    const down = events.find((event) => event.status === 'DOWN');
    const same = {
      monitorId: monitor.id,
      monitorName: 'Shop',
      region: 'default',
      timestamp: expect.any(String),
      runbookUrl: 'https://runbooks.example/shop',
    };
    const failed = { ...same, status: 'DOWN', previousStatus: 'UP', errorReason: 'HTTP_500' };
    const passed = { ...same, status: 'UP', previousStatus: 'DOWN', errorReason: null };
    expect(payloads()).toEqual([
      { ...failed, event: 'monitor.down', latency: expect.any(Number) },
      { ...failed, event: 'incident.created', latency: expect.any(Number) },
      { ...passed, event: 'monitor.up', latency: expect.any(Number) },
      { ...passed, event: 'incident.resolved', latency: expect.any(Number) },
    ]);
    expect(down).toMatchObject({ statusCode: 500, errorReason: 'HTTP_500', source: 'schedule' });
    expect(new Set(payloads().map((payload) => payload.timestamp)).size).toBe(4);

    for (const webhook of receiver.received) {
      expect(webhook).toMatchObject({ method: 'POST', path: '/hook' });
      expect(webhook.headers).toMatchObject({
        'content-type': 'application/json',
        'user-agent': 'Service/1.0',
      });
      expect(() =>
        new Webhook(secret).verify(webhook.body, webhook.headers as Record<string, string>),
      ).not.toThrow();
    }
  }, 60_000);

  test('a triggered check answers with its event, which is in the history too', async () => {
    const monitor = await system.createMonitor({
      name: 'Hourly',
      url: target.url('/hourly'),
      interval: 3_600,
    });
    await statusIs(monitor.id, 'UP');
    const { status, body } = await system.request('POST', `/api/cli/monitors/${monitor.id}/trigger`);
    expect(status).toBe(200);
    const { event } = body as { event: Event };
    expect(event).toMatchObject({ monitorId: monitor.id, source: 'trigger', status: 'UP', url: null });
    const override = await system.request('POST', `/api/cli/monitors/${monitor.id}/trigger`, {
      url: 'http://127.0.0.1:1/preview',
    });
    expect(override.body).toMatchObject({
      event: {
        url: 'http://127.0.0.1:1/preview',
        status: 'DOWN',
        errorReason: 'CONNECTION_REFUSED',
        latency: 0,
      },
    });
    const after = await system.getMonitor(monitor.id);
    expect(after.monitor.status).toBe('UP');
    expect(after.events.map(({ id }) => id)).toContain(event.id);
  }, 60_000);

  test('a deleted monitor is checked no more', async () => {
    const monitor = await system.createMonitor({ name: 'Gone', url: target.url('/gone'), interval: 5 });
    await statusIs(monitor.id, 'UP');
    expect((await system.request('DELETE', `/api/cli/monitors/${monitor.id}`)).status).toBe(204);
    const seen = target.requests.get('/gone');
    const other = await system.createMonitor({ name: 'Other', url: target.url('/other'), interval: 5 });
    await until(
      "more than an interval of another one's checks",
      async () => (await system.getMonitor(other.id)).events.length >= 3,
    );
    expect(target.requests.get('/gone')).toBe(seen);
  }, 60_000);
});
