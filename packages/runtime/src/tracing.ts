import { parseEnv } from './env.ts';
import type { Logger } from './logger.ts';
import { settings } from './settings.ts';

/** What a span says of its work, units in the names; null and undefined say nothing. Never a URL, a body or a secret. */
export type SpanAttributes = Readonly<Record<string, string | number | boolean | null | undefined>>;

export interface SpanOptions {
  /** Default: work inside of a service. */
  readonly kind?: 'server' | 'client' | 'producer' | 'consumer';
  /** What asked for this work, as a W3C `traceparent`. Without one that can be read a trace begins. */
  readonly parent?: string | null | undefined;
  /** What this work is about beside its parent. */
  readonly links?: readonly string[] | undefined;
  readonly attributes?: SpanAttributes;
  /** Epoch milliseconds; default: now. */
  readonly startedAt?: number;
}

/** A piece of work under way, in a trace that may not be sampled. */
export interface Span {
  /** W3C `traceparent`, for whoever goes on with this. */
  readonly traceparent: string;
  rename(name: string): void;
  set(attributes: SpanAttributes): void;
  /** @param why in words that hold nothing of what was worked on */
  fail(why: string): void;
  end(): void;
}

/** Begins spans. Where tracing is off there is none: whoever holds `Tracer | null` does nothing at all then. */
export interface Tracer {
  start(name: string, options?: SpanOptions): Span;
  /** Sends what has ended, within some seconds. */
  stop(): Promise<void>;
}

const tracingSettings = settings.pick({
  OTEL_EXPORTER_OTLP_ENDPOINT: true,
  OTEL_TRACES_SAMPLER: true,
  OTEL_TRACES_SAMPLER_ARG: true,
});

/**
 * The tracer of the OTEL_ settings; null where they name no endpoint, and then nothing of OpenTelemetry is loaded.
 * @param timing other times than those of a service, for tests
 */
export async function startTracing(
  service: string,
  logger: Logger,
  timing: { readonly sendEveryMs?: number; readonly stopWithinMs?: number } = {},
): Promise<Tracer | null> {
  const env = parseEnv(tracingSettings);
  if (env.OTEL_EXPORTER_OTLP_ENDPOINT === undefined) return null;
  const { openTelemetryTracer } = await import('./open-telemetry.ts');
  return openTelemetryTracer({
    service,
    sampler: env.OTEL_TRACES_SAMPLER,
    ratio: env.OTEL_TRACES_SAMPLER_ARG,
    logger,
    ...timing,
  });
}

/** Does work within a span, which ends with it; without a tracer, work alone. Of an error the span has the name. */
export async function withSpan<Result>(
  tracer: Tracer | null,
  name: string,
  options: SpanOptions,
  work: (span: Span | null) => Promise<Result>,
): Promise<Result> {
  if (tracer === null) return work(null);
  const span = tracer.start(name, options);
  try {
    return await work(span);
  } catch (error) {
    span.fail(error instanceof Error ? error.name : 'Error');
    throw error;
  } finally {
    span.end();
  }
}
