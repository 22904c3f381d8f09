import type { JobPayload } from '@tocsin/contracts/jobs';
import { waveId } from '@tocsin/core/schedule/wave';
import type { CheckOutcome, CheckRecord } from '@tocsin/db/checks/check-record';
import { withSpan, type Span, type SpanAttributes, type Tracer } from '@tocsin/runtime/tracing';
import type { ProbeResult } from '../probe/probe.ts';

/** Where a check belongs in traces; one for all checks of a job. */
export interface CheckTrace {
  /** Of what asked for this very check: a trigger, a new monitor. */
  readonly parent?: string;
  /** Of the wave that it came with. Each of its checks is a trace of its own, kept or not by itself. */
  readonly wave?: string;
}

/** Runs a job of the check queue within a span, if it is a wave. */
export function traceCheckJob(
  tracer: Tracer | null,
  region: string,
  payload: JobPayload<'check'>,
  traceparent: string | undefined,
  run: (trace: CheckTrace | undefined) => Promise<void>,
): Promise<void> {
  if (tracer === null) return run(undefined);
  if ('monitorId' in payload) return run(traceparent === undefined ? undefined : { parent: traceparent });
  const attributes = { 'tocsin.region': region, 'tocsin.wave': waveId(payload) };
  return withSpan(tracer, 'wave', { kind: 'consumer', attributes }, (span) =>
    run(span === null ? undefined : { wave: span.traceparent }),
  );
}

/** Runs one check, from its probe until it is recorded, within a span. A target that is down is no failure of the check. */
export function traceCheck<Result>(
  tracer: Tracer,
  attributes: SpanAttributes,
  trace: CheckTrace | undefined,
  run: (span: Span | null) => Promise<Result>,
): Promise<Result> {
  const kind = trace?.parent === undefined ? undefined : ('consumer' as const);
  const links = trace?.wave === undefined ? [] : [trace.wave];
  return withSpan(tracer, 'check', { parent: trace?.parent, links, attributes, ...(kind && { kind }) }, run);
}

/** What a probe found, without anything that its target sent or was sent. */
export function describeResult(result: ProbeResult): SpanAttributes {
  const { timings } = result;
  return {
    'tocsin.check.status': result.status,
    'tocsin.check.latency_ms': result.latencyMs,
    'http.response.status_code': result.statusCode,
    'error.type': result.errorReason,
    'tocsin.check.dns_ms': timings.dns,
    'tocsin.check.tcp_ms': timings.tcp,
    'tocsin.check.tls_ms': timings.tls,
    'tocsin.check.first_byte_ms': timings.firstByte,
    'tocsin.check.download_ms': timings.download,
  };
}

/** Records batches within spans that are linked to their checks. */
export function traceBatches(
  tracer: Tracer,
  record: (checks: readonly CheckRecord[]) => Promise<CheckOutcome[]>,
): (checks: readonly CheckRecord[]) => Promise<CheckOutcome[]> {
  return (checks) => {
    const links = checks.flatMap(({ traceparent }) => (traceparent?.endsWith('-01') ? traceparent : []));
    const attributes = { 'tocsin.checks': checks.length };
    return withSpan(tracer, 'record checks', { links, attributes }, () => record(checks));
  };
}
