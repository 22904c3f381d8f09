import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { HttpTarget } from '@tocsin/embedded/local-web/http-target';
import { WebhookReceiver } from '@tocsin/embedded/local-web/webhook-receiver';
import { until } from '@tocsin/embedded/testing/until';
import { createSystem, type System, untilTriggered } from '@tocsin/lab/system';
import { type ReceivedSpan, TraceReceiver } from '@tocsin/runtime/testing/trace-receiver';

const CALLER = { traceId: '4bf92f3577b34da6a3ce929d0e0e4736', spanId: '00f067aa0ba902b7' };

let target: HttpTarget;
let receiver: WebhookReceiver;
let collector: TraceReceiver;
let system: System;

beforeAll(async () => {
  [target, receiver, collector] = await Promise.all([
    HttpTarget.start(),
    WebhookReceiver.start(),
    TraceReceiver.start(),
  ]);
  const env = { OTEL_EXPORTER_OTLP_ENDPOINT: collector.endpoint };
  system = await createSystem({ queue: 'redis', receiverCa: receiver.ca, env });
  await system.startAll();
});
afterAll(async () => {
  await system.close();
  await Promise.all([target, receiver, collector].map((one) => one.stop()));
});

function untilSpan(name: string, fits: (span: ReceivedSpan) => boolean): Promise<ReceivedSpan> {
  return until(`a span "${name}"`, () => collector.spans.find((span) => span.name === name && fits(span)));
}

test('the trace of a trigger continues to its status change and the webhooks, and no span has a secret', async () => {
  const { id } = await system.createMonitor({
    name: 'Traced',
    url: target.url('/health?token=s3cret-target'),
    headers: { Authorization: 's3cret-header' },
    interval: 3_600,
    timeout: 60,
  });
  await system.createChannel(receiver.url('/hook?key=s3cret-hook'), [id]);
  await system.untilStatus(id, 'UP');
  target.status = 500;
  const refused = await fetch(`http://127.0.0.1:${system.apiPort()}/api/cli/monitors?s3cret-query`, {
    headers: { Authorization: `Bearer ${system.apiKey}` },
  });
  expect(refused.status).toBe(400);
  await untilTriggered(() =>
    fetch(`http://127.0.0.1:${system.apiPort()}/api/cli/monitors/${id}/trigger`, {
      method: 'POST',
      headers: {
        Authorization: `Bearer ${system.apiKey}`,
        traceparent: `00-${CALLER.traceId}-${CALLER.spanId}-01`,
      },
    }),
  );
  const inTrace = ({ traceId }: ReceivedSpan): boolean => traceId === CALLER.traceId;
  // A repeated trigger may have caused more than one check in this trace, but only one of them changed the status.
  const change = await untilSpan('status change', inTrace);
  expect(change.service).toBe('tocsin-checker');
  const check = await untilSpan('check', ({ spanId }) => spanId === change.parentSpanId);
  const request = await untilSpan(
    'POST /api/cli/monitors/:id/trigger',
    ({ spanId }) => spanId === check.parentSpanId,
  );
  expect(request).toMatchObject({ traceId: CALLER.traceId, parentSpanId: CALLER.spanId });
  expect(check.attributes).toMatchObject({ 'tocsin.check.source': 'trigger', 'error.type': 'HTTP_500' });
  // An outage is a result, not a failure of the check.
  expect(check.failed).toBe(false);
  await untilSpan('record checks', ({ links }) => links.includes(check.spanId));
  await untilSpan(
    'dispatch status change',
    (span) => inTrace(span) && span.parentSpanId === check.spanId && span.service === 'tocsin-notifier',
  );
  for (const event of ['monitor.down', 'incident.created']) {
    const delivery = await untilSpan(
      'deliver webhook',
      (span) =>
        inTrace(span) &&
        span.attributes['tocsin.webhook.event'] === event &&
        span.attributes['tocsin.delivery.outcome'] === 'delivered',
    );
    expect(delivery.parentSpanId).toBe(check.spanId);
    expect(delivery.attributes['http.response.status_code']).toBe(200);
  }
  expect(collector.text).not.toContain('s3cret');
  expect(collector.text).not.toContain('127.0.0.1');
  for (const { headers, body } of receiver.received) {
    expect(headers).not.toHaveProperty('traceparent');
    expect(body).not.toContain('traceparent');
  }
});

test('a scheduled check has its own trace, which is linked to its wave', async () => {
  await system.createMonitor({ name: 'Every 5 s', url: target.url('/often'), interval: 5, timeout: 60 });
  const isOfWave = (check: ReceivedSpan): boolean =>
    collector.spans.some(({ name, spanId }) => name === 'wave' && check.links.includes(spanId));
  const check = await untilSpan('check', isOfWave);
  const wave = collector.spans.find(({ name, spanId }) => name === 'wave' && check.links.includes(spanId));
  expect(wave).toMatchObject({ service: 'tocsin-checker', parentSpanId: '' });
  expect(check.parentSpanId).toBe('');
  expect(check.traceId).not.toBe(wave?.traceId);
});
