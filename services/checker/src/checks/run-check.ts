import type { JobPayload } from '@tocsin/contracts/jobs';
import { waveId } from '@tocsin/core/schedule/slots';
import type { CheckOutcome, CheckRecord } from '@tocsin/db/checks/record-checks';
import type { CheckTarget } from '@tocsin/db/monitors/check-targets';
import type { Egress } from '@tocsin/egress/create-egress';
import { JobReturnedError } from '@tocsin/queue/job-worker';
import { type Span, type SpanAttributes, type Tracer, withSpan } from '@tocsin/runtime/tracing';
import type { CheckerMetrics } from '../metrics.ts';
import type { BodyBudget } from '../probe/body-budget.ts';
import { probe, ProbeAbortedError } from '../probe/probe.ts';
import type { ProbeResult } from '../probe/probe.ts';
import { type RecordedOutcome, type Recorder, RecorderClosedError } from '../record/recorder.ts';
import type { TargetCache } from '../targets/target-cache.ts';

/** What every check needs, built once by `main`. */
export interface CheckContext {
  readonly targets: TargetCache;
  readonly recorder: Recorder;
  readonly egress: Egress;
  readonly metrics: CheckerMetrics;
  /** The memory for bodies that the probes of this process share. */
  readonly bodies: BodyBudget;
  /** Aborts probes that still run when the process must end. */
  readonly shutdown: AbortSignal;
  /**
   * Tells the notifier of a status change whose deliveries are due; a hint, so it never fails.
   * @param traceparent of the check that caused it, where there is tracing
   */
  readonly announce: (statusChangeId: string, traceparent?: string) => void;
  /** Null: there is no tracing, and a check does nothing for it. */
  readonly tracer: Tracer | null;
}

/** Which check of a monitor this is. */
export interface CheckRequest {
  readonly region: string;
  readonly source: CheckRecord['source'];
  /** Epoch milliseconds; null for a triggered check. */
  readonly slot: number | null;
  readonly triggerId: string | null;
  /** Replaces the monitor's URL for this check; null: its own. */
  readonly urlOverride: string | null;
}

/** What accompanies a check. */
export interface CheckHooks {
  readonly trace?: CheckTrace | undefined;
  /** Called once, when the target was probed and before the result is recorded. */
  readonly onProbed?: () => void;
}

/**
 * Probes a target, records the result and announces what follows: one check, scheduled or triggered.
 * @throws JobReturnedError where the process shuts down before the result was recorded
 * @throws ProbeThrottledError where there was no memory for the body, or too many lookups of the account hang to look the name up
 */
export function runCheck(
  context: CheckContext,
  target: CheckTarget,
  request: CheckRequest,
  { trace, onProbed = () => undefined }: CheckHooks = {},
): Promise<RecordedOutcome> {
  if (context.tracer === null) return probeAndRecord(context, target, request, onProbed, null);
  const attributes = {
    'tocsin.monitor.id': target.monitorId,
    'tocsin.region': request.region,
    'tocsin.check.source': request.source,
  };
  return traceCheck(context.tracer, attributes, trace, (span) =>
    probeAndRecord(context, target, request, onProbed, span),
  );
}

async function probeAndRecord(
  context: CheckContext,
  target: CheckTarget,
  request: CheckRequest,
  onProbed: () => void,
  span: Span | null,
): Promise<RecordedOutcome> {
  try {
    const startedAt = performance.now();
    const result = await probe(
      {
        url: request.urlOverride ?? target.url,
        method: target.method,
        headers: target.headers,
        body: target.body,
        timeoutMs: target.timeoutSeconds * 1_000,
        assertions: target.assertions,
        owner: { account: target.accountId, resource: target.monitorId },
      },
      context.egress,
      context.shutdown,
      context.bodies,
    );
    onProbed();
    context.metrics.checkSeconds.observe({ region: request.region }, (performance.now() - startedAt) / 1_000);
    span?.set(describeResult(result));
    const outcome = await context.recorder.record({
      ...request,
      ...result,
      monitorId: target.monitorId,
      revision: target.revision,
      ...(span && { traceparent: span.traceparent }),
    });
    span?.set({ 'tocsin.check.outcome': outcome.kind });
    follow(context, target, request, result.status, outcome, span);
    return outcome;
  } catch (error) {
    if (!(error instanceof ProbeAbortedError || error instanceof RecorderClosedError)) throw error;
    throw new JobReturnedError('the checker shuts down', { cause: error });
  }
}

function follow(
  { metrics, targets, announce }: CheckContext,
  target: CheckTarget,
  { region, source }: CheckRequest,
  status: CheckRecord['status'],
  outcome: RecordedOutcome,
  span: Span | null,
): void {
  if (outcome.kind !== 'recorded') {
    metrics.dropped.inc({ reason: outcome.kind });
    if (outcome.kind === 'gone') targets.evict(target.monitorId);
    return;
  }
  metrics.checks.inc({ region, source, status });
  if (outcome.outdated) targets.evict(target.monitorId);
  if (outcome.statusChangeId !== null) announce(outcome.statusChangeId, span?.traceparent);
}

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
function traceCheck<Result>(
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
function describeResult(result: ProbeResult): SpanAttributes {
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
