import { AsyncLocalStorage } from 'node:async_hooks';
import {
  createContextKey,
  defaultTextMapGetter,
  defaultTextMapSetter,
  INVALID_SPAN_CONTEXT,
  ROOT_CONTEXT,
  SpanStatusCode,
  trace,
  type Attributes,
  type Context,
  type Span,
  type SpanContext,
  type SpanKind,
} from '@opentelemetry/api';
import { parseEnv } from './env.ts';
import type { Logger } from './logger.ts';
import type { OpenTelemetry } from './open-telemetry.ts';
import { settings } from './settings.ts';

export { SpanKind, type Attributes, type Span } from '@opentelemetry/api';

/** Attribute names include the unit. Values never hold a URL, a body or a secret. */
export interface SpanOptions {
  readonly kind?: SpanKind;
  /** W3C `traceparent` of the parent. Null or an invalid value starts a trace. Defaults to the current span. */
  readonly parent?: string | null;
  /** Related spans, each as a W3C `traceparent`. */
  readonly links?: readonly string[];
  readonly attributes?: Attributes;
  /** Epoch milliseconds. Defaults to now. */
  readonly startTime?: number;
}

const tracingSettings = settings.pick({
  OTEL_EXPORTER_OTLP_ENDPOINT: true,
  OTEL_TRACES_SAMPLER: true,
  OTEL_TRACES_SAMPLER_ARG: true,
});

/** Null while tracing is off. Not registered globally, because instrumented libraries would put queries and URLs into spans. */
let openTelemetry: OpenTelemetry | null = null;

/** Costs nothing before the first `run`, and therefore nothing while tracing is off. */
const contexts = new AsyncLocalStorage<Context>();
const EXPORTING = ROOT_CONTEXT.setValue(createContextKey('exporting'), true);
/** Spans without a parent are linked to the span of this context. */
const LINK = createContextKey('link');
const NO_SPAN: Span = trace.wrapSpanContext(INVALID_SPAN_CONTEXT);

/** Turns tracing on if OTEL_EXPORTER_OTLP_ENDPOINT is set. @returns a function that turns it off and sends the remaining spans within seconds */
export async function startTracing(
  service: string,
  logger: Logger,
  timing: { readonly sendEveryMs?: number; readonly stopWithinMs?: number } = {},
): Promise<() => Promise<void>> {
  const env = parseEnv(tracingSettings);
  openTelemetry = null;
  if (env.OTEL_EXPORTER_OTLP_ENDPOINT === undefined) return () => Promise.resolve();
  const { startOpenTelemetry } = await import('./open-telemetry.ts');
  const started = startOpenTelemetry({
    service,
    env,
    logger,
    runExport: runTraceExport,
    ...timing,
  });
  openTelemetry = started;
  return async () => {
    openTelemetry = null;
    await started.stop();
  };
}

export function isTracing(): boolean {
  return openTelemetry !== null;
}

/** Runs an export of spans, whose unhandled errors do not end the service. */
export function runTraceExport<Result>(work: () => Result): Result {
  return contexts.run(EXPORTING, work);
}

/** Reports whether the running code, or the error just thrown or rejected, belongs to an export of spans. */
export function isExportingTraces(): boolean {
  return contexts.getStore() === EXPORTING;
}

/** Starts a span, which does nothing while tracing is off. The caller ends it. */
export function startSpan(name: string, { parent, links = [], ...options }: SpanOptions = {}): Span {
  if (openTelemetry === null) return NO_SPAN;
  const context = parent === undefined ? currentContext() : contextOf(parent);
  const linked = links.flatMap((link) => trace.getSpanContext(contextOf(link)) ?? []);
  const link = context.getValue(LINK) as SpanContext | undefined;
  if (link && trace.getSpanContext(context) === undefined) linked.push(link);
  const spanLinks = linked.map((spanContext) => ({ context: spanContext }));
  return openTelemetry.tracer.startSpan(name, { ...options, links: spanLinks }, context);
}

/** Runs work whose spans become children of this one. */
export function runInSpan<Result>(span: Span, work: () => Result): Result {
  return openTelemetry === null ? work() : contexts.run(trace.setSpan(ROOT_CONTEXT, span), work);
}

/** Runs work whose spans start their own traces, linked to this one. */
export function runLinkedTo<Result>(span: Span, work: () => Result): Result {
  return openTelemetry === null
    ? work()
    : contexts.run(ROOT_CONTEXT.setValue(LINK, span.spanContext()), work);
}

/** Continues a trace from another process or request. @param traceparent null for no trace */
export function continueTrace<Result>(traceparent: string | null | undefined, work: () => Result): Result {
  return openTelemetry === null ? work() : contexts.run(contextOf(traceparent), work);
}

/** Runs work within a span that ends with it. The span keeps only the name of an error. */
export async function withSpan<Result>(
  name: string,
  options: SpanOptions,
  work: (span: Span) => Promise<Result>,
): Promise<Result> {
  if (openTelemetry === null) return work(NO_SPAN);
  const span = startSpan(name, options);
  try {
    return await runInSpan(span, () => work(span));
  } catch (error) {
    failSpan(span, error instanceof Error ? error.name : 'Error');
    throw error;
  } finally {
    span.end();
  }
}

/** @param message must not contain data of the work */
export function failSpan(span: Span, message: string): void {
  span.setStatus({ code: SpanStatusCode.ERROR, message });
}

/** Returns the W3C `traceparent` of the current span, to store with work that continues elsewhere. Undefined without a span. */
export function currentTraceparent(): string | undefined {
  const carrier: { traceparent?: string } = {};
  openTelemetry?.propagator.inject(currentContext(), carrier, defaultTextMapSetter);
  return carrier.traceparent;
}

function currentContext(): Context {
  return contexts.getStore() ?? ROOT_CONTEXT;
}

function contextOf(traceparent: string | null | undefined): Context {
  if (openTelemetry === null || !traceparent) return ROOT_CONTEXT;
  return openTelemetry.propagator.extract(ROOT_CONTEXT, { traceparent }, defaultTextMapGetter);
}
