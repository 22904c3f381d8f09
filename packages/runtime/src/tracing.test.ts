import { PassThrough } from 'node:stream';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { createLogger } from './logger.ts';
import { TraceReceiver } from './testing/trace-receiver.ts';
import { until } from './testing/until.ts';
import { startTracing, withSpan, type Tracer } from './tracing.ts';

const PARENT = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01';
/** Spans that OpenTelemetry sends at once. */
const BATCH = 512;
const PATIENT_MS = 600_000;
const UNSAMPLED = PARENT.replace(/01$/, '00');

let receiver: TraceReceiver;
let log: string;
beforeEach(async () => {
  receiver = await TraceReceiver.start();
  log = '';
});
afterEach(async () => {
  for (const name of Object.keys(process.env)) if (name.startsWith('OTEL_')) delete process.env[name];
  await receiver.stop();
});

/** The exporter gives up, and a stop waits, for longer than any test lasts. */
function start(
  env: Record<string, string> = {},
  timing: Parameters<typeof startTracing>[2] = {},
): Promise<Tracer | null> {
  Object.assign(process.env, {
    OTEL_EXPORTER_OTLP_ENDPOINT: receiver.endpoint,
    OTEL_EXPORTER_OTLP_TIMEOUT: String(PATIENT_MS),
    ...env,
  });
  const stream = new PassThrough().setEncoding('utf8').on('data', (text: string) => (log += text));
  const logger = createLogger({ service: 'test', format: 'json', stream });
  return startTracing('test', logger, { sendEveryMs: 50, stopWithinMs: PATIENT_MS, ...timing });
}

/** The names of the spans that arrive of these: without a parent, of a trace that is kept, of one that is not. */
async function kept(env: Record<string, string>): Promise<string[]> {
  const tracer = await start(env);
  tracer?.start('none').end();
  tracer?.start('kept', { parent: PARENT }).end();
  tracer?.start('dropped', { parent: UNSAMPLED }).end();
  await tracer?.stop();
  return receiver.spans.map(({ name }) => name);
}

test('there is no tracer without an endpoint', async () => {
  expect(await start({ OTEL_EXPORTER_OTLP_ENDPOINT: '' })).toBeNull();
});

test('a span goes on with the trace that it is told, and tells it to the next', async () => {
  const tracer = await start({ OTEL_RESOURCE_ATTRIBUTES: 'deployment.environment.name=production' });
  await withSpan(tracer, 'work', { parent: PARENT, links: [UNSAMPLED, 'nonsense'] }, async (span) => {
    span?.set({ known: 7, unknown: null });
    await withSpan(tracer, 'part', { parent: span?.traceparent }, async () => undefined);
  });
  const failing = withSpan(tracer, 'failing', { parent: 'nonsense' }, () =>
    Promise.reject(new TypeError('s3cret')),
  );
  await expect(failing).rejects.toThrow('s3cret');
  await tracer?.stop();
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

describe('samplers', () => {
  test.each([
    [{}, ['none', 'kept']],
    [{ OTEL_TRACES_SAMPLER: 'always_on' }, ['none', 'kept', 'dropped']],
    [{ OTEL_TRACES_SAMPLER: 'always_off' }, []],
    [{ OTEL_TRACES_SAMPLER: 'traceidratio', OTEL_TRACES_SAMPLER_ARG: '0' }, []],
    [{ OTEL_TRACES_SAMPLER: 'parentbased_always_off' }, ['kept']],
    [{ OTEL_TRACES_SAMPLER: 'parentbased_traceidratio', OTEL_TRACES_SAMPLER_ARG: '0.0' }, ['kept']],
  ])('%j', async (env: Record<string, string>, names) => {
    expect(await kept(env)).toEqual(names);
  });

  test('one that there is not is refused', async () => {
    const wrong = { OTEL_TRACES_SAMPLER: 'sometimes', OTEL_TRACES_SAMPLER_ARG: '1.5' };
    await expect(start(wrong)).rejects.toThrow(
      /^OTEL_TRACES_SAMPLER must be .*\nOTEL_TRACES_SAMPLER_ARG must be /,
    );
  });
});

test('a collector that refuses is said once, and so is that it takes traces again', async () => {
  receiver.status = 400;
  const tracer = await start();
  for (let sent = 1; sent <= 3; sent += 1) {
    tracer?.start('lost').end();
    await until(`request ${sent} has arrived`, () => receiver.requests === sent);
  }
  receiver.status = 200;
  tracer?.start('kept').end();
  await until('a span has arrived', () => receiver.spans.length > 0);
  await tracer?.stop();
  expect(log.match(/"level":"warn"/g)).toHaveLength(1);
  expect(log).toContain('Traces cannot be sent');
  expect(log.match(/Traces can be sent again/g)).toHaveLength(1);
  expect(log).not.toContain('of the collector');
});

test('spans that find no place are told of', async () => {
  const tracer = await start();
  for (let count = 0; count < 10_000; count += 1) tracer?.start('many').end();
  // The first batch may still be under way when it has arrived; once the second has, there is room for sure.
  await until('the second batch has arrived', () => receiver.spans.length > BATCH);
  tracer?.start('one more').end();
  await tracer?.stop();
  expect(log).toMatch(/OpenTelemetry warns.*Dropped 1\d{3} spans/);
});

test('a collector that answers early and resets the connection ends nothing', async () => {
  receiver.resets = true;
  const tracer = await start();
  // More than the buffers of a connection hold, so that the rest is still being written.
  const name = 'x'.repeat(20_000);
  for (let batch = 1; batch <= 8; batch += 1) {
    for (let count = 0; count < BATCH; count += 1) tracer?.start(name).end();
    await until(`batch ${batch} is answered`, () => receiver.requests >= batch);
  }
  receiver.resets = false;
  tracer?.start('kept').end();
  await until('a span has arrived', () => receiver.spans.length > 0);
  await tracer?.stop();
  expect(receiver.spans.map((span) => span.name)).toContain('kept');
});

test('a collector that does not answer holds up no stop', async () => {
  receiver.hangs = true;
  const tracer = await start({}, { stopWithinMs: 50 });
  tracer?.start('lost').end();
  await until('the request has arrived', () => receiver.requests === 1);
  await tracer?.stop();
  // The exporter still waits.
  expect(log).not.toContain('Traces cannot be sent');
});
