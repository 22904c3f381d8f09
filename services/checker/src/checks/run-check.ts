import type { CheckRecord } from '@tocsin/db/checks/check-record';
import type { CheckTarget } from '@tocsin/db/monitors/check-targets';
import { JobReturnedError } from '@tocsin/queue/job-worker';
import type { Producers } from '@tocsin/queue/producers';
import type { Logger } from '@tocsin/runtime/logger';
import { currentTraceparent, SpanKind, withSpan, type Attributes } from '@tocsin/runtime/tracing';
import type { CheckerMetrics } from '../metrics.ts';
import { ProbeAbortedError, type Prober, type ProbeResult } from '../probe/probe.ts';
import { RecorderClosedError, type Recorder, type RecordedOutcome } from '../record/recorder.ts';
import type { TargetCache } from '../targets/target-cache.ts';

/** What every check needs, built once by `main`. */
export interface CheckContext {
  readonly targets: TargetCache;
  readonly prober: Prober;
  readonly recorder: Recorder;
  readonly metrics: CheckerMetrics;
  /** Hints at a status change whose deliveries are due. Never fails. */
  readonly announce: (statusChangeId: string) => void;
}

/** The check to run. Without `urlOverride` it uses the monitor's URL. */
export type CheckRequest = Pick<CheckRecord, 'region' | 'source' | 'slot' | 'triggerId' | 'urlOverride'>;

/**
 * Runs one check, scheduled or triggered: probes the target, records the result and announces a status change.
 * @param onProbed called once, when the probe has ended and before the result is recorded
 * @throws JobReturnedError if the process shuts down before the result is recorded
 * @throws ProbeThrottledError if a limit of this process ended the probe
 */
export function runCheck(
  context: CheckContext,
  target: CheckTarget,
  request: CheckRequest,
  onProbed: () => void = () => undefined,
): Promise<RecordedOutcome> {
  const { prober, recorder, metrics } = context;
  const { monitorId, revision } = target;
  const options = {
    kind: currentTraceparent() === undefined ? SpanKind.INTERNAL : SpanKind.CONSUMER,
    attributes: {
      'tocsin.monitor.id': monitorId,
      'tocsin.region': request.region,
      'tocsin.check.source': request.source,
    },
  };
  return withSpan('check', options, async (span) => {
    try {
      const startedAt = performance.now();
      const result = await prober.probe({
        ...target,
        url: request.urlOverride ?? target.url,
        timeoutMs: target.timeoutSeconds * 1_000,
        owner: { account: target.accountId, resource: monitorId },
      });
      onProbed();
      metrics.checkSeconds.observe({ region: request.region }, (performance.now() - startedAt) / 1_000);
      if (span.isRecording()) span.setAttributes(describeResult(result));
      const traceparent = currentTraceparent();
      const outcome = await recorder.record({
        ...request,
        ...result,
        network: null,
        monitorId,
        revision,
        ...(traceparent !== undefined && { traceparent }),
      });
      span.setAttribute('tocsin.check.outcome', outcome.kind);
      handleOutcome(context, monitorId, request, result.status, outcome);
      return outcome;
    } catch (error) {
      if (!(error instanceof ProbeAbortedError || error instanceof RecorderClosedError)) throw error;
      throw new JobReturnedError('the checker shuts down', { cause: error });
    }
  });
}

function handleOutcome(
  { metrics, targets, announce }: CheckContext,
  monitorId: string,
  { region, source }: CheckRequest,
  status: CheckRecord['status'],
  outcome: RecordedOutcome,
): void {
  if (outcome.kind !== 'recorded') {
    metrics.dropped.inc({ reason: outcome.kind });
    if (outcome.kind === 'gone') targets.evict(monitorId);
    return;
  }
  metrics.checks.inc({ region, source, status });
  if (outcome.outdated) targets.evict(monitorId);
  if (outcome.statusChangeId !== null) announce(outcome.statusChangeId);
}

/** Attributes of a span. They hold nothing that the target received or sent. */
function describeResult({ status, latencyMs, statusCode, errorReason, timings }: ProbeResult): Attributes {
  return {
    'tocsin.check.status': status,
    'tocsin.check.latency_ms': latencyMs,
    'http.response.status_code': statusCode ?? undefined,
    'error.type': errorReason ?? undefined,
    'tocsin.check.dns_ms': timings.dns ?? undefined,
    'tocsin.check.tcp_ms': timings.tcp ?? undefined,
    'tocsin.check.tls_ms': timings.tls ?? undefined,
    'tocsin.check.first_byte_ms': timings.firstByte ?? undefined,
    'tocsin.check.download_ms': timings.download ?? undefined,
  };
}

/** Hints at status changes with jobs for the notifier, which finds them without a job, too. */
export function createAnnouncer(producers: Producers, logger: Logger): CheckContext['announce'] {
  return (statusChangeId) => {
    const options = { kind: SpanKind.PRODUCER, attributes: { 'tocsin.status_change.id': statusChangeId } };
    const adding = withSpan('status change', options, () => producers.addStatusChanges([statusChangeId]));
    adding.catch((error: unknown) => {
      logger.warn('Announcing a status change failed; the relay finds it', { statusChangeId, error });
    });
  };
}
