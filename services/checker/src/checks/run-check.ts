import type { CheckRecord } from '@tocsin/db/checks/check-record';
import type { CheckTarget } from '@tocsin/db/monitors/check-targets';
import { JobReturnedError } from '@tocsin/queue/job-worker';
import type { Producers } from '@tocsin/queue/producers';
import type { Logger } from '@tocsin/runtime/logger';
import { currentTraceparent, SpanKind, withSpan, type Attributes } from '@tocsin/runtime/tracing';
import type { CheckerMetrics } from '../metrics.ts';
import { ProbeAbortedError, type Prober, type ProbeResult } from '@tocsin/probe/probe';
import type { NetworkProof, ProbedCheck } from '../regions/network-proof.ts';
import { RecorderClosedError, type Recorder, type RecordedOutcome } from '../record/recorder.ts';
import type { TargetCache } from '../targets/target-cache.ts';
import type { Retry } from './retries.ts';

export interface CheckContext {
  readonly targets: TargetCache;
  readonly prober: Prober;
  readonly recorder: Recorder;
  readonly networkProof: NetworkProof;
  readonly metrics: CheckerMetrics;
  /** Tells the notifier about a due status change. Never fails. */
  readonly announce: (statusChangeId: string) => void;
  readonly retry: Retry;
}

/** Without `urlOverride`, the check uses the monitor's URL. */
export type CheckRequest = Pick<CheckRecord, 'region' | 'source' | 'slot' | 'triggerId' | 'urlOverride'>;

/** Each callback is called at most once. */
interface CheckProgress {
  /** Called when the probe begins. Earlier delays say nothing about the target. */
  readonly onBegin?: () => void;
  readonly onProbed?: () => void;
  /** Called when the result may have to wait for proof of the network. */
  readonly onWaiting?: () => void;
  /** Ends the probe without a result. */
  readonly signal?: AbortSignal;
}

/**
 * Probes a target, records the result, and announces a status change. If the network may have failed, the result waits for proof, while the
 * check still counts as running.
 * @throws JobReturnedError if the process shuts down, ProbeThrottledError if other accounts needed its capacity
 */
export function runCheck(
  context: CheckContext,
  target: CheckTarget,
  request: CheckRequest,
  { onBegin, onProbed, onWaiting, signal }: CheckProgress = {},
): Promise<RecordedOutcome> {
  const { prober, networkProof, metrics, retry } = context;
  const { monitorId } = target;
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
      const endAccompaniment = await networkProof.accompany(target, request);
      onBegin?.();
      const startedAt = performance.now();
      const begunAt = Math.max(request.slot ?? 0, Date.now());
      const probing = prober.probe({
        url: request.urlOverride ?? target.url,
        method: target.method,
        headers: target.headers,
        body: target.body,
        assertions: target.assertions,
        timeoutMs: target.timeoutSeconds * 1_000,
        owner: { account: target.accountId, resource: monitorId },
        signal,
      });
      const result = await probing.finally(endAccompaniment);
      onProbed?.();
      const endedAt = performance.now();
      metrics.checkSeconds.observe({ region: request.region }, (endedAt - startedAt) / 1_000);
      if (span.isRecording()) span.setAttributes(describeResult(result));
      const { region, urlOverride } = request;
      const probed = { target, region, urlOverride, startedAt, endedAt, result };
      const { record, outcome } = await recordResult(context, request, probed, onWaiting);
      span.setAttribute('tocsin.check.outcome', outcome.kind);
      handleOutcome(context, record, outcome);
      if ('needsRetry' in outcome && outcome.needsRetry) await retry(target, request.region, begunAt);
      return outcome;
    } catch (error) {
      if (!(error instanceof ProbeAbortedError || error instanceof RecorderClosedError)) throw error;
      throw new JobReturnedError('the checker shuts down', { cause: error });
    }
  });
}

async function recordResult(
  { recorder, networkProof, metrics }: CheckContext,
  request: CheckRequest,
  probed: ProbedCheck,
  onWaiting?: () => void,
): Promise<{ readonly record: CheckRecord; readonly outcome: RecordedOutcome }> {
  const { target, result } = probed;
  const recordAs = async (network: CheckRecord['network']) => {
    const record = recordOf(target, request, result, network);
    return { record, outcome: await recorder.record(record) };
  };
  if (result.ownFailure !== null) {
    metrics.ownFailures.inc({ reason: result.ownFailure });
    return recordAs('unavailable');
  }
  if (result.transportFailure === null) {
    networkProof.noteResult(probed);
    return recordAs(null);
  }
  onWaiting?.();
  const recorded = await recordAs(await networkProof.networkOf(probed));
  if (recorded.outcome.kind !== 'unproven') return recorded;
  return recordAs(await networkProof.prove(probed));
}

/** Copies field by field, because in Node 20 every spread takes microseconds. */
function recordOf(
  { monitorId, revision }: CheckTarget,
  request: CheckRequest,
  result: ProbeResult,
  network: CheckRecord['network'],
): CheckRecord {
  return {
    monitorId,
    revision,
    region: request.region,
    source: request.source,
    slot: request.slot,
    triggerId: request.triggerId,
    urlOverride: request.urlOverride,
    status: result.status,
    latencyMs: result.latencyMs,
    statusCode: result.statusCode,
    errorReason: result.errorReason,
    errorDetail: result.errorDetail,
    timings: result.timings,
    certificateExpiresAt: result.certificateExpiresAt,
    response: result.response,
    network,
    traceparent: currentTraceparent(),
  };
}

function handleOutcome(
  { metrics, targets, announce }: CheckContext,
  { monitorId, region, source, status }: CheckRecord,
  outcome: RecordedOutcome,
): void {
  if (outcome.kind !== 'recorded') {
    metrics.dropped.inc({ reason: outcome.kind });
    if (outcome.kind === 'gone') targets.evict(monitorId);
    return;
  }
  metrics.checks.inc({ region, source, status: outcome.inconclusive ? 'INCONCLUSIVE' : status });
  if (outcome.outdated) targets.evict(monitorId);
  if (outcome.statusChangeId !== null) announce(outcome.statusChangeId);
}

/** Describes a result for a trace, without anything that the target received or sent. */
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

/** Creates a function that adds a job for each status change. Without the job, the notifier still finds the change. */
export function createAnnouncer(producers: Producers, logger: Logger): CheckContext['announce'] {
  return (statusChangeId) => {
    const options = { kind: SpanKind.PRODUCER, attributes: { 'tocsin.status_change.id': statusChangeId } };
    const adding = withSpan('status change', options, () => producers.addStatusChanges([statusChangeId]));
    adding.catch((error: unknown) => {
      logger.warn("Could not announce a status change. The notifier's relay will find it.", {
        statusChangeId,
        error,
      });
    });
  };
}
