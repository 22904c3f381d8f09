import { randomUUID } from 'node:crypto';
import type { Agent } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import * as otel from '@opentelemetry/api';
import { ExportResultCode, parseTraceParent } from '@opentelemetry/core';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http';
import { convertLegacyHttpOptions } from '@opentelemetry/otlp-exporter-base/node-http';
import {
  defaultResource,
  detectResources,
  envDetector,
  resourceFromAttributes,
} from '@opentelemetry/resources';
import * as sdk from '@opentelemetry/sdk-trace';
import type { Logger } from './logger.ts';
import type { Settings } from './settings.ts';
import { runTelemetry } from './telemetry.ts';
import type { Span, SpanAttributes, SpanOptions, Tracer } from './tracing.ts';

/** How long an ended span waits to be sent in a batch, and how many may wait: any more are dropped. */
const SEND_EVERY_MS = 1_000;
const MOST_WAITING = 8_192;
const WARN_EVERY_MS = 30_000;
/** Characters. */
const MOST_WARNING = 500;
/** At a stop a collector that is away must not hold up the process. */
const STOP_WITHIN_MS = 3_000;

export interface OpenTelemetryOptions {
  /** As `api`: what is not told by OTEL_SERVICE_NAME is named after it. */
  readonly service: string;
  readonly sampler: Settings['OTEL_TRACES_SAMPLER'];
  /** Of traces, for samplers with a ratio. */
  readonly ratio: number;
  readonly logger: Logger;
  /** How long an ended span waits to be sent in a batch. Default: 1 s. */
  readonly sendEveryMs?: number | undefined;
  /** How long a stop waits for a collector. Default: 3 s. */
  readonly stopWithinMs?: number | undefined;
}

/**
 * Sends spans as OTLP, JSON over HTTP, to where the OTEL_EXPORTER_OTLP_ variables say. That is the operator's own address: it
 * does not go through the egress guard. Nothing but the log for its warnings is registered with OpenTelemetry's API: libraries that know it stay silent.
 */
export function openTelemetryTracer(options: OpenTelemetryOptions): Tracer {
  const { service, sampler, ratio, logger } = options;
  const { sendEveryMs = SEND_EVERY_MS, stopWithinMs = STOP_WITHIN_MS } = options;
  hearWarnings(logger);
  const own = resourceFromAttributes({
    'service.name': `tocsin-${service}`,
    'service.namespace': 'tocsin',
    'service.instance.id': randomUUID(),
  });
  const provider = new sdk.TracerProvider({
    sampler: samplerOf(sampler, ratio),
    resource: defaultResource()
      .merge(own)
      .merge(detectResources({ detectors: [envDetector] })),
    spanProcessors: [
      new sdk.BatchSpanProcessor({
        exporter: reporting(new OTLPTraceExporter({ httpAgentOptions: createAgent }), logger),
        scheduledDelayMillis: sendEveryMs,
        maxQueueSize: MOST_WAITING,
      }),
    ],
  });
  const tracer = provider.getTracer('tocsin');
  return {
    start: (name, span = {}) => new OpenTelemetrySpan(startSpan(tracer, name, span)),
    stop: async () => {
      // What could not be sent has been said.
      const stopped = provider.shutdown().catch(() => undefined);
      await Promise.race([stopped, sleep(stopWithinMs, undefined, { ref: false })]);
    },
  };
}

function samplerOf(name: Settings['OTEL_TRACES_SAMPLER'], ratio: number): sdk.Sampler {
  const parentBased = name.startsWith('parentbased_');
  const root = rootSampler(name.replace(/^parentbased_/, ''), ratio);
  return parentBased ? new sdk.ParentBasedSampler({ root }) : root;
}

function rootSampler(name: string, ratio: number): sdk.Sampler {
  if (name === 'always_off') return new sdk.AlwaysOffSampler();
  return name === 'traceidratio' ? new sdk.TraceIdRatioBasedSampler(ratio) : new sdk.AlwaysOnSampler();
}

/**
 * The agent that the OTEL_EXPORTER_OTLP_ variables ask for. Of a request that was answered before it was sent, Node leaves the
 * socket without a listener for errors: a collector that closes such a connection would end the process.
 */
async function createAgent(protocol: string): Promise<Agent> {
  const { agentFactory } = convertLegacyHttpOptions({}, 'TRACES', 'v1/traces', {});
  const agent: Agent = await agentFactory(protocol);
  const connect = agent.createConnection.bind(agent);
  agent.createConnection = (options, callback) => connect(options, callback)?.on('error', quiet);
  return agent;
}

/**
 * Says once when spans cannot be sent, and once when they can again. Whatever becomes of an export, it is known as telemetry:
 * see `runTelemetry`.
 */
function reporting(exporter: sdk.SpanExporter, logger: Logger): sdk.SpanExporter {
  let failing = false;
  return {
    export: (spans, done) =>
      runTelemetry(() => {
        exporter.export(spans, (result) => {
          const failed = result.code !== ExportResultCode.SUCCESS;
          if (failed && !failing)
            logger.warn('Traces cannot be sent; those of this time are lost', {
              error: withoutAnswer(result.error),
            });
          if (!failed && failing) logger.info('Traces can be sent again');
          failing = failed;
          done(result);
        });
      }),
    shutdown: () => runTelemetry(() => exporter.shutdown()),
    forceFlush: async () => runTelemetry(() => exporter.forceFlush?.()),
  };
}

/** The exporter's error has the whole answer of whoever is there. */
function withoutAnswer(error: Error | undefined): Record<string, unknown> {
  const { name, message, code } = (error ?? {}) as Partial<Error> & { readonly code?: unknown };
  return { name, message, code };
}

const quiet = (): void => undefined;

/** What OpenTelemetry warns of, as spans that were dropped; not all of it, since it comes alike. Its errors are those of `reporting`. */
function hearWarnings(logger: Logger): void {
  let toldAt = -Infinity;
  const tell = (message: string): void => {
    if (performance.now() - toldAt < WARN_EVERY_MS) return;
    toldAt = performance.now();
    logger.warn('OpenTelemetry warns', { warning: message.slice(0, MOST_WARNING) });
  };
  const heard = { error: quiet, warn: tell, info: quiet, debug: quiet, verbose: quiet };
  otel.diag.setLogger(heard, { logLevel: otel.DiagLogLevel.WARN, suppressOverrideMessage: true });
}

const KINDS = {
  server: otel.SpanKind.SERVER,
  client: otel.SpanKind.CLIENT,
  producer: otel.SpanKind.PRODUCER,
  consumer: otel.SpanKind.CONSUMER,
} as const;

function startSpan(tracer: otel.Tracer, name: string, options: SpanOptions): otel.Span {
  const { kind, parent, links = [], attributes = {}, startedAt } = options;
  const parentContext = contextOf(parent);
  return tracer.startSpan(
    name,
    {
      kind: kind === undefined ? otel.SpanKind.INTERNAL : KINDS[kind],
      links: links.flatMap((link) => contextOf(link) ?? []).map((context) => ({ context })),
      attributes: known(attributes),
      ...(startedAt !== undefined && { startTime: startedAt }),
    },
    parentContext === null ? otel.ROOT_CONTEXT : otel.trace.setSpanContext(otel.ROOT_CONTEXT, parentContext),
  );
}

function contextOf(traceparent: string | null | undefined): otel.SpanContext | null {
  const context = typeof traceparent === 'string' ? parseTraceParent(traceparent) : null;
  return context && { ...context, isRemote: true };
}

function known(attributes: SpanAttributes): otel.Attributes {
  const said: otel.Attributes = {};
  for (const [name, value] of Object.entries(attributes)) {
    if (value !== null && value !== undefined) said[name] = value;
  }
  return said;
}

class OpenTelemetrySpan implements Span {
  readonly #span: otel.Span;

  constructor(span: otel.Span) {
    this.#span = span;
  }

  get traceparent(): string {
    const { traceId, spanId, traceFlags } = this.#span.spanContext();
    return `00-${traceId}-${spanId}-${traceFlags.toString(16).padStart(2, '0')}`;
  }

  rename(name: string): void {
    this.#span.updateName(name);
  }

  set(attributes: SpanAttributes): void {
    this.#span.setAttributes(known(attributes));
  }

  fail(why: string): void {
    this.#span.setStatus({ code: otel.SpanStatusCode.ERROR, message: why });
  }

  end(): void {
    this.#span.end();
  }
}
