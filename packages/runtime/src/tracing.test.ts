import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { captureLog } from './testing/captured-log.ts';
import { TraceReceiver } from './testing/trace-receiver.ts';
import { until } from './testing/until.ts';
import {
  continueTrace,
  currentTraceparent,
  isTracing,
  runInSpan,
  runLinkedTo,
  startSpan,
  startTracing,
  withSpan,
} from './tracing.ts';

const PARENT = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01';
/** Spans that OpenTelemetry sends at once. */
const BATCH = 512;
const PATIENT_MS = 600_000;
const UNSAMPLED = PARENT.replace(/01$/, '00');

let receiver: TraceReceiver;
let log: ReturnType<typeof captureLog>;
beforeEach(async () => {
  receiver = await TraceReceiver.start();
  log = captureLog();
});
afterEach(async () => {
  for (const name of Object.keys(process.env)) if (name.startsWith('OTEL_')) delete process.env[name];
  await receiver.stop();
});

/** The timeouts of the exporter and of a stop are longer than any test. */
function start(
  env: Record<string, string> = {},
  timing: Parameters<typeof startTracing>[2] = {},
): Promise<() => Promise<void>> {
  Object.assign(process.env, {
    OTEL_EXPORTER_OTLP_ENDPOINT: receiver.endpoint,
    OTEL_EXPORTER_OTLP_TIMEOUT: String(PATIENT_MS),
    ...env,
  });
  return startTracing('test', log.logger, { sendEveryMs: 50, stopWithinMs: PATIENT_MS, ...timing });
}

test('without an endpoint there are no spans and no traceparent', async () => {
  const stop = await start({ OTEL_EXPORTER_OTLP_ENDPOINT: '' });
  expect(isTracing()).toBe(false);
  await continueTrace(PARENT, () =>
    withSpan('work', {}, async (span) => {
      expect(span.isRecording()).toBe(false);
      expect(currentTraceparent()).toBeUndefined();
    }),
  );
  await stop();
  expect(receiver.requests).toBe(0);
});

test('a span continues the trace of its parent, and passes it on', async () => {
  const stop = await start({ OTEL_RESOURCE_ATTRIBUTES: 'deployment.environment.name=production' });
  await withSpan('work', { parent: PARENT, links: [UNSAMPLED, 'nonsense'] }, async (span) => {
    span.setAttributes({ known: 7, unknown: undefined });
    await new Promise((resolve) => setImmediate(resolve));
    await withSpan('part', {}, async () => undefined);
  });
  const failing = withSpan('failing', { parent: 'nonsense' }, () => Promise.reject(new TypeError('s3cret')));
  await expect(failing).rejects.toThrow('s3cret');
  await stop();
  const [part, work, failed] = receiver.spans;
  expect(work).toMatchObject({
    service: 'tocsin-test',
    name: 'work',
    traceId: '4bf92f3577b34da6a3ce929d0e0e4736',
    parentSpanId: '00f067aa0ba902b7',
    attributes: { known: 7 },
    links: ['00f067aa0ba902b7'],
    failed: false,
  });
  expect(work?.attributes).not.toHaveProperty('unknown');
  expect(part).toMatchObject({ name: 'part', traceId: work?.traceId, parentSpanId: work?.spanId });
  expect(failed).toMatchObject({ name: 'failing', parentSpanId: '', failed: true });
  expect(failed?.traceId).not.toBe(work?.traceId);
  expect(receiver.text).toContain('production');
  expect(receiver.text).toContain('TypeError');
  expect(receiver.text).not.toContain('s3cret');
});

test('a traceparent continues the trace elsewhere, and null continues none', async () => {
  const stop = await start();
  const outer = startSpan('outer');
  const traceparent = runInSpan(outer, () => currentTraceparent());
  const { traceId, spanId } = outer.spanContext();
  expect(traceparent).toBe(`00-${traceId}-${spanId}-01`);
  expect(currentTraceparent()).toBeUndefined();
  continueTrace(traceparent, () => startSpan('child').end());
  runInSpan(outer, () => {
    continueTrace(null, () => startSpan('detached').end());
    startSpan('root', { parent: null }).end();
    runLinkedTo(outer, () => startSpan('linked').end());
  });
  await stop();
  const byName = new Map(receiver.spans.map((span) => [span.name, span]));
  expect(byName.get('child')).toMatchObject({ traceId, parentSpanId: spanId, links: [] });
  expect(byName.get('detached')).toMatchObject({ parentSpanId: '', links: [] });
  expect(byName.get('root')).toMatchObject({ parentSpanId: '', links: [] });
  expect(byName.get('linked')).toMatchObject({ parentSpanId: '', links: [spanId] });
  expect(byName.get('linked')?.traceId).not.toBe(traceId);
});

describe('samplers keep spans without a parent, of a sampled trace, and of another trace', () => {
  test.each([
    [{}, ['none', 'kept']],
    [{ OTEL_TRACES_SAMPLER: 'always_on' }, ['none', 'kept', 'dropped']],
    [{ OTEL_TRACES_SAMPLER: 'always_off' }, []],
    [{ OTEL_TRACES_SAMPLER: 'traceidratio', OTEL_TRACES_SAMPLER_ARG: '0' }, []],
    [{ OTEL_TRACES_SAMPLER: 'parentbased_always_off' }, ['kept']],
    [{ OTEL_TRACES_SAMPLER: 'parentbased_traceidratio', OTEL_TRACES_SAMPLER_ARG: '0.0' }, ['kept']],
  ])('%j', async (env: Record<string, string>, names) => {
    const stop = await start(env);
    startSpan('none').end();
    startSpan('kept', { parent: PARENT }).end();
    startSpan('dropped', { parent: UNSAMPLED }).end();
    await stop();
    expect(receiver.spans.map(({ name }) => name)).toEqual(names);
  });

  test('an unknown sampler is refused', async () => {
    const wrong = { OTEL_TRACES_SAMPLER: 'sometimes', OTEL_TRACES_SAMPLER_ARG: '1.5' };
    await expect(start(wrong)).rejects.toThrow(
      /^OTEL_TRACES_SAMPLER must be .*\nOTEL_TRACES_SAMPLER_ARG must be /,
    );
  });
});

test('a collector that refuses spans is logged once, and so is its recovery', async () => {
  receiver.status = 400;
  const stop = await start();
  for (let sent = 1; sent <= 3; sent += 1) {
    startSpan('lost').end();
    await until(`request ${sent} has arrived`, () => receiver.requests === sent);
  }
  receiver.status = 200;
  startSpan('kept').end();
  await until('a span has arrived', () => receiver.spans.length > 0);
  await stop();
  expect(log.text().match(/"level":"warn"/g)).toHaveLength(1);
  expect(log.text()).toContain('Traces cannot be sent');
  expect(log.text().match(/Traces can be sent again/g)).toHaveLength(1);
  expect(log.text()).not.toContain('of the collector');
});

test('dropped spans are logged', async () => {
  const stop = await start();
  for (let count = 0; count < 10_000; count += 1) startSpan('many').end();
  // The first batch may still be in progress after it has arrived. Once the second has arrived, the queue has room.
  await until('the second batch has arrived', () => receiver.spans.length > BATCH);
  startSpan('one more').end();
  await stop();
  expect(log.text()).toMatch(/OpenTelemetry warning.*Dropped 1\d{3} spans/);
});

test('a collector that responds early and resets the connection does no harm', async () => {
  receiver.resets = true;
  const stop = await start();
  // The name is longer than a connection's buffers, so the rest is still being written.
  const name = 'x'.repeat(20_000);
  for (let batch = 1; batch <= 4; batch += 1) {
    for (let count = 0; count < BATCH; count += 1) startSpan(name).end();
    await until(`batch ${batch} has arrived`, () => receiver.requests >= batch);
  }
  receiver.resets = false;
  startSpan('kept').end();
  await until('a span has arrived', () => receiver.spans.length > 0);
  await stop();
  expect(receiver.spans.map((span) => span.name)).toContain('kept');
});

test('a collector that does not respond does not delay a stop', async () => {
  receiver.hangs = true;
  const stop = await start({}, { stopWithinMs: 50 });
  startSpan('lost').end();
  await until('the request has arrived', () => receiver.requests === 1);
  await stop();
  // The exporter is still waiting.
  expect(log.text()).not.toContain('Traces cannot be sent');
});
