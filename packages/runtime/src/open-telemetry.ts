import { randomUUID } from 'node:crypto';
import type { Agent } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { diag, DiagLogLevel, type TextMapPropagator, type Tracer } from '@opentelemetry/api';
import { ExportResultCode, W3CTraceContextPropagator } from '@opentelemetry/core';
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

const SEND_EVERY_MS = 1_000;
const MAX_WAITING_SPANS = 8_192;
const WARN_EVERY_MS = 30_000;
const MAX_WARNING_CHARACTERS = 500;
/** An unavailable collector must not delay the end of the process. */
const STOP_WITHIN_MS = 2_000;

export interface OpenTelemetry {
  readonly tracer: Tracer;
  readonly propagator: TextMapPropagator;
  /** Sends the remaining spans, within seconds. */
  stop(): Promise<void>;
}

interface OpenTelemetryOptions {
  /** The service name is `tocsin-<service>` unless OTEL_SERVICE_NAME is set. */
  readonly service: string;
  readonly env: Pick<Settings, 'OTEL_TRACES_SAMPLER' | 'OTEL_TRACES_SAMPLER_ARG'>;
  readonly logger: Logger;
  /** Marks the context of an export, so that its errors can be recognized. */
  readonly runExport: <Result>(work: () => Result) => Result;
  readonly sendEveryMs?: number;
  readonly stopWithinMs?: number;
}

/** Sends spans as OTLP/JSON over HTTP. The operator chose the address, so the requests bypass the egress guard. */
export function startOpenTelemetry(options: OpenTelemetryOptions): OpenTelemetry {
  const { service, sendEveryMs = SEND_EVERY_MS, stopWithinMs = STOP_WITHIN_MS } = options;
  logWarnings(options.logger);
  const ownResource = resourceFromAttributes({
    'service.name': `tocsin-${service}`,
    'service.namespace': 'tocsin',
    'service.instance.id': randomUUID(),
  });
  const provider = new sdk.TracerProvider({
    sampler: createSampler(options.env),
    resource: defaultResource()
      .merge(ownResource)
      .merge(detectResources({ detectors: [envDetector] })),
    spanProcessors: [
      new sdk.BatchSpanProcessor({
        exporter: createExporter(options),
        scheduledDelayMillis: sendEveryMs,
        maxQueueSize: MAX_WAITING_SPANS,
      }),
    ],
  });
  return {
    tracer: provider.getTracer('tocsin'),
    propagator: new W3CTraceContextPropagator(),
    stop: async () => {
      const stopped = provider.shutdown().catch(() => undefined);
      await Promise.race([stopped, sleep(stopWithinMs, undefined, { ref: false })]);
    },
  };
}

function createSampler({
  OTEL_TRACES_SAMPLER: name,
  OTEL_TRACES_SAMPLER_ARG: ratio,
}: OpenTelemetryOptions['env']): sdk.Sampler {
  let root: sdk.Sampler = new sdk.AlwaysOnSampler();
  if (name.endsWith('always_off')) root = new sdk.AlwaysOffSampler();
  if (name.endsWith('traceidratio')) root = new sdk.TraceIdRatioBasedSampler(ratio);
  return name.startsWith('parentbased_') ? new sdk.ParentBasedSampler({ root }) : root;
}

/** Logs when sending begins to fail and when it works again. */
function createExporter({ logger, runExport }: OpenTelemetryOptions): sdk.SpanExporter {
  const exporter = new OTLPTraceExporter({ httpAgentOptions: createAgent });
  let isFailing = false;
  return {
    export: (spans, done) =>
      runExport(() =>
        exporter.export(spans, (result) => {
          const hasFailed = result.code !== ExportResultCode.SUCCESS;
          if (hasFailed && !isFailing) {
            // The error contains the whole response of the server.
            const { name, message, code } = (result.error ?? {}) as Partial<NodeJS.ErrnoException>;
            logger.warn('Traces cannot be sent and are lost', { error: { name, message, code } });
          }
          if (!hasFailed && isFailing) logger.info('Traces can be sent again');
          isFailing = hasFailed;
          done(result);
        }),
      ),
    shutdown: () => runExport(() => exporter.shutdown()),
    forceFlush: async () => runExport(() => exporter.forceFlush?.()),
  };
}

/** A collector that responds early leaves a socket without a listener, whose error would end the process. */
async function createAgent(protocol: string): Promise<Agent> {
  const { agentFactory } = convertLegacyHttpOptions({}, 'TRACES', 'v1/traces', {});
  const agent: Agent = await agentFactory(protocol);
  const connect = agent.createConnection.bind(agent);
  agent.createConnection = (options, callback) => connect(options, callback)?.on('error', ignore);
  return agent;
}

/** Logs warnings such as dropped spans, at a limited rate. */
function logWarnings(logger: Logger): void {
  let loggedAt = -Infinity;
  const warn = (message: string): void => {
    if (performance.now() - loggedAt < WARN_EVERY_MS) return;
    loggedAt = performance.now();
    logger.warn('OpenTelemetry warning', { warning: message.slice(0, MAX_WARNING_CHARACTERS) });
  };
  const diagLogger = { error: ignore, warn, info: ignore, debug: ignore, verbose: ignore };
  diag.setLogger(diagLogger, { logLevel: DiagLogLevel.WARN, suppressOverrideMessage: true });
}

function ignore(): void {}
