import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { type WebhookPayload, webhookPayloadSchema } from '@tocsin/contracts/deliveries/webhook';
import type { Event } from '@tocsin/contracts/monitors/events';
import { HttpTarget } from '@tocsin/embedded/local-web/http-target';
import { type ReceivedWebhook, WebhookReceiver } from '@tocsin/embedded/local-web/webhook-receiver';
import { until } from '@tocsin/embedded/testing/until';
import type { ServiceName, ServiceProcess } from '@tocsin/lab/service-process';
import { createSystem, type System } from '@tocsin/lab/system';
import { Webhook } from 'standardwebhooks';
import { firstArrivals, untilLogged } from './arrivals.ts';
import { expectDocumentedMetrics, untilQuiet } from './metrics.ts';

/** This is the longest timeout, so a check of a target that responds does not time out, even on a busy machine. */
const TIMEOUT = 60;

describe.each(['redis', 'postgres'] as const)('the story of the README, with the queue on %s', (queue) => {
  let target: HttpTarget;
  let receiver: WebhookReceiver;
  let system: System;
  let services: Record<ServiceName, ServiceProcess>;

  beforeAll(async () => {
    [target, receiver] = await Promise.all([HttpTarget.start(), WebhookReceiver.start()]);
    system = await createSystem({ queue, receiverCa: receiver.ca });
    services = await system.startAll();
  });
  afterAll(async () => {
    await system.close();
    await Promise.all([target.stop(), receiver.stop()]);
  });

  const received = (): ReceivedWebhook[] => firstArrivals(receiver.received);
  const payloads = (): WebhookPayload[] =>
    received().map(({ body }) => webhookPayloadSchema.parse(JSON.parse(body)));

  test('a monitor goes PENDING, UP, DOWN and UP, and its webhooks arrive over HTTPS; a deleted one is not checked again', async () => {
    const gone = await system.createMonitor({ name: 'Gone', url: target.url('/gone'), interval: 5 });
    await system.untilStatus(gone.id, 'UP');
    expect((await system.request('DELETE', `/api/cli/monitors/${gone.id}`)).status).toBe(204);
    const monitor = await system.createMonitor({
      name: 'Shop',
      url: target.url('/health'),
      interval: 5,
      timeout: TIMEOUT,
      runbookUrl: 'https://runbooks.example/shop',
    });
    const { secret } = await system.createChannel(receiver.url('/story'), [monitor.id]);
    expect(monitor.status).toBe('PENDING');
    // The first check runs at once and does not wait for its slot.
    await system.untilStatus(monitor.id, 'UP');
    const requestsBefore = target.requests.get('/gone');
    expect(requestsBefore).toBeGreaterThan(0);
    target.status = 500;
    await system.untilStatus(monitor.id, 'DOWN');
    await until('two webhooks', () => received().length >= 2);
    target.status = 200;
    await system.untilStatus(monitor.id, 'UP');
    await until('four webhooks', () => received().length >= 4);

    const same = {
      monitorId: monitor.id,
      monitorName: 'Shop',
      region: 'default',
      timestamp: expect.any(String),
      runbookUrl: 'https://runbooks.example/shop',
      latency: expect.any(Number),
    };
    const failed = { ...same, status: 'DOWN', previousStatus: 'UP', errorReason: 'HTTP_500' };
    const passed = { ...same, status: 'UP', previousStatus: 'DOWN', errorReason: null };
    expect(payloads()).toEqual([
      { ...failed, event: 'monitor.down' },
      { ...failed, event: 'incident.created' },
      { ...passed, event: 'monitor.up' },
      { ...passed, event: 'incident.resolved' },
    ]);
    expect(new Set(payloads().map((payload) => payload.timestamp)).size).toBe(4);
    await untilLogged(system.context, receiver.received);
    for (const webhook of received()) {
      expect(webhook).toMatchObject({ method: 'POST', path: '/story' });
      expect(webhook.headers).toMatchObject({
        'content-type': 'application/json',
        'user-agent': 'Service/1.0',
      });
      expect(() =>
        new Webhook(secret).verify(webhook.body, webhook.headers as Record<string, string>),
      ).not.toThrow();
    }
    const { events } = await system.getMonitor(monitor.id);
    expect(events.find(({ status }) => status === 'DOWN')).toMatchObject({
      statusCode: 500,
      errorReason: 'HTTP_500',
      source: 'schedule',
    });
    // The deleted monitor had a slot between the two status changes, which came from planned checks.
    expect(target.requests.get('/gone')).toBe(requestsBefore);
  });

  test('the response of a trigger has its event, which is also in the history', async () => {
    const { id } = await system.createMonitor({ name: 'Hourly', url: target.url(), interval: 3_600 });
    await system.untilStatus(id, 'UP');
    const { event } = (await system.trigger(id)).body as { event: Event };
    expect(event).toMatchObject({ monitorId: id, source: 'trigger', status: 'UP', url: null });
    const url = 'http://127.0.0.1:1/preview';
    expect((await system.trigger(id, { url })).body).toMatchObject({
      event: { url, status: 'DOWN', errorReason: 'CONNECTION_REFUSED', latency: 0 },
    });
    const after = await system.getMonitor(id);
    expect(after.monitor.status).toBe('UP');
    expect(after.events.map((one) => one.id)).toContain(event.id);
  });

  test('the metrics of each service are documented, and those of the alerting rules are quiet', async () => {
    await expectDocumentedMetrics(services);
    await untilQuiet(services);
  });
});
