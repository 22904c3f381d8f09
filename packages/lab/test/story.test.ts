import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { type WebhookPayload, webhookPayloadSchema } from '@tocsin/contracts/deliveries/webhook';
import type { Event } from '@tocsin/contracts/monitors/events';
import { firstArrivals, untilLogged } from './arrivals.ts';
import type { ServiceName, ServiceProcess } from '@tocsin/lab/service-process';
import { createSystem, type System } from '@tocsin/lab/system';
import { HttpTarget } from '@tocsin/embedded/local-web/http-target';
import { type ReceivedWebhook, WebhookReceiver } from '@tocsin/embedded/local-web/webhook-receiver';
import { until } from '@tocsin/embedded/testing/until';
import { TraceReceiver } from '@tocsin/runtime/testing/trace-receiver';
import { Webhook } from 'standardwebhooks';
import { testMetrics } from './metrics.ts';
import { testTraces } from './traces.ts';

const INTERVAL_MS = 5_000;
/** The longest timeout: a check of a target that responds does not time out, even on a busy machine. */
const TIMEOUT = 60;

describe.each(['redis', 'postgres'] as const)(
  'checks and alerts end to end, with the queue on %s',
  (queue) => {
    let target: HttpTarget;
    let receiver: WebhookReceiver;
    let collector: TraceReceiver;
    let system: System;
    let services: Record<ServiceName, ServiceProcess>;
    /** How often the deleted monitor had been checked when no check of it was under way any more. */
    let requestsBefore: number | undefined;

    beforeAll(async () => {
      [target, receiver, collector] = await Promise.all([
        HttpTarget.start(),
        WebhookReceiver.start(),
        TraceReceiver.start(),
      ]);
      system = await createSystem({
        queue,
        receiverCa: receiver.ca,
        env: { OTEL_EXPORTER_OTLP_ENDPOINT: collector.endpoint },
      });
      services = await system.startAll();
      const gone = await system.createMonitor({ name: 'Gone', url: target.url('/gone'), interval: 5 });
      await system.untilStatus(gone.id, 'UP');
      expect((await system.request('DELETE', `/api/cli/monitors/${gone.id}`)).status).toBe(204);
    });
    afterAll(async () => {
      await system.close();
      await Promise.all([target.stop(), receiver.stop(), collector.stop()]);
    });

    function received(): ReceivedWebhook[] {
      return firstArrivals(receiver.received.filter(({ path }) => path === '/story'));
    }

    function payloads(): WebhookPayload[] {
      return received().map(({ body }) => webhookPayloadSchema.parse(JSON.parse(body)));
    }

    test('a monitor goes PENDING, UP, DOWN and UP, and its webhooks arrive over HTTPS', async () => {
      const monitor = await system.createMonitor({
        name: 'Shop',
        url: target.url('/health'),
        interval: 5,
        timeout: TIMEOUT,
        runbookUrl: 'https://runbooks.example/shop',
      });
      const { secret } = await system.createChannel(receiver.url('/story'), [monitor.id]);
      expect(monitor.status).toBe('PENDING');
      // At once: the first check does not wait for its slot.
      await system.untilStatus(monitor.id, 'UP');
      requestsBefore = target.requests.get('/gone');
      target.status = 500;
      await system.untilStatus(monitor.id, 'DOWN');
      await until('two webhooks', () => received().length >= 2);
      target.status = 200;
      await system.untilStatus(monitor.id, 'UP');
      await until('four webhooks', () => received().length >= 4);

      const { events, monitor: shown } = await system.getMonitor(monitor.id);
      expect(shown.status).toBe('UP');
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
      // The deleted monitor had a slot in each interval.
      await until('a check an interval after the first one', async () => {
        const times = (await system.getMonitor(monitor.id)).events.map(({ timestamp }) =>
          Date.parse(timestamp),
        );
        return Math.max(...times) - Math.min(...times) > INTERVAL_MS;
      });
    });

    test('a deleted monitor is not checked again', () => {
      expect(requestsBefore).toBeGreaterThan(0);
      expect(target.requests.get('/gone')).toBe(requestsBefore);
    });

    test('the response of a trigger has its event, which is also in the history', async () => {
      const monitor = await system.createMonitor({
        name: 'Hourly',
        url: target.url('/hourly'),
        interval: 3_600,
      });
      await system.untilStatus(monitor.id, 'UP');
      const { status, body } = await system.trigger(monitor.id);
      expect(status).toBe(200);
      const { event } = body as { event: Event };
      expect(event).toMatchObject({ monitorId: monitor.id, source: 'trigger', status: 'UP', url: null });
      const override = await system.trigger(monitor.id, { url: 'http://127.0.0.1:1/preview' });
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
    });

    testTraces(() => ({ target, receiver, collector, system }));
    testMetrics(() => services);
  },
);
