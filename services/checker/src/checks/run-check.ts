import type { CheckRecord } from '@tocsin/db/checks/check-record';
import type { CheckTarget } from '@tocsin/db/monitors/check-targets';
import { JobReturnedError } from '@tocsin/queue/job-worker';
import type { Producers } from '@tocsin/queue/producers';
import type { Logger } from '@tocsin/runtime/logger';
import { currentTraceparent, SpanKind, withSpan, type Attributes } from '@tocsin/runtime/tracing';
import type { CheckerMetrics } from '../metrics.ts';
import { ProbeAbortedError, type ProbeResult } from '@tocsin/probe/probe';
import type { NetworkProof, ProbedCheck } from '../regions/network-proof.ts';
import { RecorderClosedError, type Recorder, type RecordedOutcome } from '../record/recorder.ts';
import type { TargetCache } from '../targets/target-cache.ts';
import type { CheckIdentity, CheckProber, CheckProbeResult } from './check-prober.ts';
import type { Retry } from './retries.ts';

export interface CheckContext {
  readonly targets: Pick<TargetCache, 'get' | 'latest' | 'evict'>;
  readonly prober: CheckProber;
  readonly recorder: Recorder;
  readonly networkProof: NetworkProof;
  readonly metrics: CheckerMetrics;
  /** Tells the notifier about a due status change. Never fails. */
  readonly announce: (statusChangeId: string) => void;
  readonly retry: Retry;
}

/** Without `urlOverride`, the check uses the monitor's URL. */
export type CheckRequest = Omit<CheckIdentity, 'monitorId' | 'accountId' | 'revision'>;

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
  const { prober, networkProof, metrics } = context;
  const { monitorId, accountId, revision } = target;
  const { region, source, slot, triggerId, urlOverride } = request;
  const options = {
    kind: currentTraceparent() === undefined ? SpanKind.INTERNAL : SpanKind.CONSUMER,
    attributes: {
      'tocsin.monitor.id': monitorId,
      'tocsin.region': region,
      'tocsin.check.source': source,
    },
  };
  return withSpan('check', options, async (span) => {
    try {
      const endAccompaniment = await networkProof.accompany(target, request);
      let startedAt: number | null = null;
      const begunAt = Math.max(slot ?? 0, Date.now());
      const check = { monitorId, accountId, revision, region, source, slot, triggerId, urlOverride };
      const probing = prober.probe(
        {
          url: urlOverride ?? target.url,
          method: target.method,
          headers: target.headers,
          body: target.body,
          followRedirects: target.followRedirects,
          ipFamily: target.ipFamily,
          connectTo: target.connectTo,
          tls: target.tls,
          ownUrl: urlOverride === null ? undefined : target.url,
          assertions: target.assertions,
          timeoutMs: target.timeoutSeconds * 1_000,
          owner: { account: accountId, resource: monitorId },
          signal,
          onBegin: () => {
            if (startedAt === null) onBegin?.();
            startedAt = performance.now();
          },
        },
        check,
      );
      const result = await probing.finally(endAccompaniment);
      onProbed?.();
      const endedAt = performance.now();
      const probed = { target, region, urlOverride, startedAt: startedAt ?? endedAt, endedAt, result };
      metrics.checkSeconds.observe({ region }, (endedAt - probed.startedAt) / 1_000);
      if (span.isRecording()) span.setAttributes(describeResult(result));
      const outcome = await recordProbed(context, request, probed, { begunAt, onWaiting });
      span.setAttribute('tocsin.check.outcome', outcome.kind);
      return outcome;
    } catch (error) {
      if (!isShutdown(error)) throw error;
      throw new JobReturnedError('the checker shuts down', { cause: error });
    }
  });
}

/** Reports whether a check ended without a recorded result because this process or its region workers shut down. */
export function isShutdown(error: unknown): boolean {
  return error instanceof ProbeAbortedError || error instanceof RecorderClosedError;
}

interface RecordProgress {
  /** Start of the check, epoch milliseconds. */
  readonly begunAt: number;
  /** Called when the result may have to wait for proof of the network. */
  readonly onWaiting?: (() => void) | undefined;
  /** True for a result that an agent kept while it was disconnected. */
  readonly isLate?: boolean;
}

/**
 * Records the result of a probe, adds its retry and announces a status change. Then confirms the result, even if PostgreSQL refused it.
 * @throws an error for which `isShutdown` is true, or the error of a database that refuses the result
 */
export async function recordProbed(
  context: CheckContext,
  request: CheckRequest,
  probed: ProbedCheck & { readonly result: CheckProbeResult },
  progress: RecordProgress,
): Promise<RecordedOutcome> {
  const { target, result } = probed;
  try {
    const { record, outcome } = await recordResult(context, request, probed, progress);
    handleOutcome(context, record, outcome);
    result.confirm?.();
    if ('needsRetry' in outcome && outcome.needsRetry)
      await context.retry(target, request.region, progress.begunAt);
    return outcome;
  } catch (error) {
    if (!isShutdown(error)) result.confirm?.();
    throw error;
  }
}

async function recordResult(
  { recorder, networkProof, metrics }: CheckContext,
  request: CheckRequest,
  probed: ProbedCheck,
  { onWaiting, isLate = false }: Omit<RecordProgress, 'begunAt'>,
): Promise<{ readonly record: CheckRecord; readonly outcome: RecordedOutcome }> {
  const { target, result } = probed;
  const recordAs = async (network: CheckRecord['network']) => {
    const record = recordOf(target, request, result, network, isLate);
    return { record, outcome: await recorder.record(record) };
  };
  if (result.ownFailure !== null) {
    metrics.ownFailures.inc({ reason: result.ownFailure });
    return recordAs('unavailable');
  }
  if (result.transportFailure === null) {
    // A late result says nothing about the network now.
    if (!isLate) networkProof.noteResult(probed);
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
  isLate: boolean,
): CheckRecord {
  return {
    monitorId,
    revision,
    region: request.region,
    source: request.source,
    slot: request.slot,
    isLate,
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
