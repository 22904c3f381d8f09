import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { Monitor } from '@tocsin/contracts/monitor';
import { createSystem, type System } from '@tocsin/e2e/system';
import { until } from '@tocsin/embedded/testing/until';
import { HttpTarget } from '@tocsin/embedded/local-web/http-target';
import { WebhookReceiver } from '@tocsin/embedded/local-web/webhook-receiver';
import { TraceReceiver, type ReceivedSpan } from '@tocsin/runtime/testing/trace-receiver';

const CALLER = { traceId: '4bf92f3577b34da6a3ce929d0e0e4736', spanId: '00f067aa0ba902b7' };

describe('traces', () => {
  let target: HttpTarget;
  let receiver: WebhookReceiver;
  let collector: TraceReceiver;
  let system: System;
  let monitor: Monitor;

  beforeAll(async () => {
    [target, receiver, collector] = await Promise.all([
      HttpTarget.start(),
      WebhookReceiver.start(),
      TraceReceiver.start(),
    ]);
    system = await createSystem({
      queue: 'redis',
      receiverCa: receiver.ca,
      env: { OTEL_EXPORTER_OTLP_ENDPOINT: collector.endpoint },
    });
    await system.startAll();
    monitor = await system.createMonitor({
      name: 'Shop',
      url: target.url('/health?token=s3cret-target'),
      headers: { Authorization: 's3cret-header' },
      // Checked when it is new and when it is triggered, and not in between.
      interval: 3_600,
    });
    await system.createChannel(receiver.url('/hook?key=s3cret-hook'), [monitor.id]);
    await until('the first check', async () => (await system.getMonitor(monitor.id)).monitor.status === 'UP');
  }, 60_000);
  afterAll(async () => {
    await system.close();
    await Promise.all([target.stop(), receiver.stop(), collector.stop()]);
  });

  /** Waits for a span. @param where what it has, beside its name */
  function span(name: string, where: Partial<ReceivedSpan> = {}): Promise<ReceivedSpan> {
    const fits = (one: ReceivedSpan): boolean =>
      one.name === name &&
      Object.entries(where).every(([key, value]) => one[key as keyof ReceivedSpan] === value);
    return until(`a span "${name}"`, () => collector.spans.find(fits));
  }

  test('one goes from a request that creates a monitor to its first check', async () => {
    const request = await span('POST /api/cli/monitors', { service: 'tocsin-api', parentSpanId: '' });
    const { traceId } = request;
    const check = await span('check', { traceId, service: 'tocsin-checker' });
    // The schedule may be applied twice, by the request and by the reconciler: either adds the first check.
    await span('schedule', { traceId, parentSpanId: request.spanId, spanId: check.parentSpanId });
    expect(check.attributes).toMatchObject({
      'tocsin.monitor.id': monitor.id,
      'tocsin.region': 'default',
      'tocsin.check.source': 'schedule',
      'tocsin.check.status': 'UP',
      'tocsin.check.first_byte_ms': expect.any(Number),
      'http.response.status_code': 200,
    });
    await until('the batch of the check', () =>
      collector.spans.some(({ name, links }) => name === 'record checks' && links.includes(check.spanId)),
    );
  }, 60_000);

  test('one goes from a triggered check, over its status change, to the webhooks, in the trace of its caller', async () => {
    target.status = 500;
    await fetch(`http://127.0.0.1:${system.apiPort()}/api/cli/monitors/${monitor.id}/trigger?s3cret-query`, {
      method: 'POST',
      headers: {
        Authorization: `Bearer ${system.apiKey}`,
        traceparent: `00-${CALLER.traceId}-${CALLER.spanId}-01`,
      },
    });
    const { traceId } = CALLER;
    const request = await span('POST /api/cli/monitors/:id/trigger', {
      traceId,
      parentSpanId: CALLER.spanId,
    });
    const check = await span('check', { traceId, parentSpanId: request.spanId });
    expect(check.attributes).toMatchObject({ 'tocsin.check.source': 'trigger', 'error.type': 'HTTP_500' });
    // A target that is down is a result.
    expect(check.failed).toBe(false);
    await span('status change', { traceId, parentSpanId: check.spanId, service: 'tocsin-checker' });
    await span('dispatch status change', {
      traceId,
      parentSpanId: check.spanId,
      service: 'tocsin-notifier',
    });
    const deliveries = await until('both deliveries', () => {
      const found = collector.spans.filter(
        (one) => one.name === 'deliver webhook' && one.traceId === traceId,
      );
      return found.length === 2 && found;
    });
    expect(deliveries.map(({ attributes }) => attributes)).toEqual(
      ['monitor.down', 'incident.created'].map((event) =>
        expect.objectContaining({
          'tocsin.webhook.event': event,
          'tocsin.delivery.attempt': 1,
          'tocsin.delivery.outcome': 'delivered',
          'http.response.status_code': 200,
        }),
      ),
    );
    expect(new Set(deliveries.map(({ parentSpanId }) => parentSpanId))).toEqual(new Set([check.spanId]));
  }, 60_000);

  test('a scheduled check is a trace of its own, linked to its wave', async () => {
    await system.createMonitor({ name: 'Often', url: target.url('/often'), interval: 5, timeout: 2 });
    const wave = await span('wave', { service: 'tocsin-checker', parentSpanId: '' });
    const check = await until('a check of it', () =>
      collector.spans.find(({ name, links }) => name === 'check' && links.includes(wave.spanId)),
    );
    expect(check.parentSpanId).toBe('');
    expect(check.traceId).not.toBe(wave.traceId);
  }, 60_000);

  test('none holds a URL or a query, and no receiver is told of them', () => {
    expect(collector.text).not.toContain('s3cret');
    expect(collector.text).not.toContain('127.0.0.1');
    expect(receiver.received).toHaveLength(2);
    for (const { headers } of receiver.received) expect(headers).not.toHaveProperty('traceparent');
    for (const { body } of receiver.received) expect(body).not.toContain('traceparent');
  });
});
