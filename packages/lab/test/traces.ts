import { beforeAll, describe, expect, test } from '@jest/globals';
import type { System } from '@tocsin/lab/system';
import { untilTriggered } from '@tocsin/lab/system';
import type { HttpTarget } from '@tocsin/embedded/local-web/http-target';
import type { WebhookReceiver } from '@tocsin/embedded/local-web/webhook-receiver';
import { until } from '@tocsin/embedded/testing/until';
import type { ReceivedSpan, TraceReceiver } from '@tocsin/runtime/testing/trace-receiver';

const CALLER = { traceId: '4bf92f3577b34da6a3ce929d0e0e4736', spanId: '00f067aa0ba902b7' };
const HOOK = '/hook?key=s3cret-hook';

/** A system whose services send their traces to `collector`. */
export interface TracedSystem {
  readonly system: System;
  readonly target: HttpTarget;
  readonly receiver: WebhookReceiver;
  readonly collector: TraceReceiver;
}

/** Tests of the traces of a running system. */
export function testTraces(traced: () => TracedSystem): void {
  describe('traces', () => {
    /** It is checked when it is created and when it is triggered. Its interval is longer than the tests take. */
    let monitorId: string;
    let firstCheck: ReceivedSpan;

    beforeAll(async () => {
      const { system, target, receiver } = traced();
      target.status = 200;
      // If the reconciler adds the first check before the request does, the check is not part of the request's trace.
      firstCheck = await until('a first check that its request has added', async () => {
        const { id } = await system.createMonitor({
          name: 'Traced',
          url: target.url('/health?token=s3cret-target'),
          headers: { Authorization: 's3cret-header' },
          interval: 3_600,
          timeout: 60,
        });
        const check = await until('its span', () =>
          traced().collector.spans.find(
            ({ name, attributes }) => name === 'check' && attributes['tocsin.monitor.id'] === id,
          ),
        );
        monitorId = id;
        return check.parentSpanId !== '' && check;
      });
      await system.createChannel(receiver.url(HOOK), [monitorId]);
    });

    /** Waits for a span. @param where other fields that it must have */
    function span(name: string, where: Partial<ReceivedSpan> = {}): Promise<ReceivedSpan> {
      const fits = (one: ReceivedSpan): boolean =>
        one.name === name &&
        Object.entries(where).every(([key, value]) => one[key as keyof ReceivedSpan] === value);
      return until(`a span "${name}"`, () => traced().collector.spans.find(fits));
    }

    test('include the request that creates a monitor and its first check', async () => {
      const { traceId, parentSpanId } = firstCheck;
      const request = await span('POST /api/cli/monitors', {
        traceId,
        service: 'tocsin-api',
        parentSpanId: '',
      });
      await span('schedule', { traceId, parentSpanId: request.spanId, spanId: parentSpanId });
      expect(firstCheck.service).toBe('tocsin-checker');
      expect(firstCheck.attributes).toMatchObject({
        'tocsin.monitor.id': monitorId,
        'tocsin.region': 'default',
        'tocsin.check.source': 'schedule',
        'tocsin.check.status': 'UP',
        'tocsin.check.first_byte_ms': expect.any(Number),
        'http.response.status_code': 200,
      });
      await until('the batch of the check', () =>
        traced().collector.spans.some(
          ({ name, links }) => name === 'record checks' && links.includes(firstCheck.spanId),
        ),
      );
    });

    test('continue the trace of a trigger to its status change and the webhooks', async () => {
      const { system, target, collector } = traced();
      target.status = 500;
      await untilTriggered(() =>
        fetch(`http://127.0.0.1:${system.apiPort()}/api/cli/monitors/${monitorId}/trigger?s3cret-query`, {
          method: 'POST',
          headers: {
            Authorization: `Bearer ${system.apiKey}`,
            traceparent: `00-${CALLER.traceId}-${CALLER.spanId}-01`,
          },
        }),
      );
      const { traceId } = CALLER;
      // A repeated trigger may have made more than one check in this trace: only one of them changed the status.
      const change = await span('status change', { traceId, service: 'tocsin-checker' });
      const check = await span('check', { traceId, spanId: change.parentSpanId });
      await span('POST /api/cli/monitors/:id/trigger', {
        traceId,
        parentSpanId: CALLER.spanId,
        spanId: check.parentSpanId,
      });
      expect(check.attributes).toMatchObject({
        'tocsin.check.source': 'trigger',
        'error.type': 'HTTP_500',
      });
      // A target that is down is a result, not a failure of the check.
      expect(check.failed).toBe(false);
      await span('dispatch status change', {
        traceId,
        parentSpanId: check.spanId,
        service: 'tocsin-notifier',
      });
      for (const event of ['monitor.down', 'incident.created']) {
        const attempts = await until(`the delivery of ${event}`, () => {
          const found = collector.spans.filter(
            ({ name, attributes, ...one }) =>
              name === 'deliver webhook' &&
              one.traceId === traceId &&
              attributes['tocsin.webhook.event'] === event,
          );
          const isDelivered = found.some(
            ({ attributes }) => attributes['tocsin.delivery.outcome'] === 'delivered',
          );
          return isDelivered && found;
        });
        // There is more than one attempt if a response came too late on a busy machine.
        const last = attempts.find(
          ({ attributes }) => attributes['tocsin.delivery.attempt'] === attempts.length,
        );
        expect(last?.attributes).toMatchObject({
          'tocsin.delivery.outcome': 'delivered',
          'http.response.status_code': 200,
        });
        expect(new Set(attempts.map(({ parentSpanId }) => parentSpanId))).toEqual(new Set([check.spanId]));
      }
    });

    test('start with a scheduled check, linked to its wave', async () => {
      const { collector } = traced();
      const [wave, check] = await until('a check of a wave', () => {
        for (const wave of collector.spans.filter(({ name }) => name === 'wave')) {
          const check = collector.spans.find(
            ({ name, links }) => name === 'check' && links.includes(wave.spanId),
          );
          if (check) return [wave, check] as const;
        }
        return null;
      });
      expect(wave).toMatchObject({ service: 'tocsin-checker', parentSpanId: '' });
      expect(check.parentSpanId).toBe('');
      expect(check.traceId).not.toBe(wave.traceId);
    });

    test('contain no URL and no query, and receivers get no trace headers', () => {
      const { collector, receiver } = traced();
      expect(collector.text).not.toContain('s3cret');
      expect(collector.text).not.toContain('127.0.0.1');
      const received = receiver.received.filter(({ path }) => path === HOOK);
      expect(new Set(received.map(({ headers }) => headers['webhook-id'])).size).toBe(2);
      for (const { headers } of receiver.received) expect(headers).not.toHaveProperty('traceparent');
      for (const { body } of receiver.received) expect(body).not.toContain('traceparent');
    });
  });
}
