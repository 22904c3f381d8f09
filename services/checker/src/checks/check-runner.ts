import type { CheckRecord } from '@tocsin/db/checks/check-record';
import type { CheckTarget } from '@tocsin/db/monitors/load-check-targets';
import type { Egress } from '@tocsin/egress/create-egress';
import { JobReturnedError } from '@tocsin/queue/job-worker';
import type { CheckerMetrics } from '../metrics.ts';
import { probe, ProbeAbortedError } from '../probe/probe.ts';
import { RecorderClosedError, type Recorder, type RecordedOutcome } from '../record/recorder.ts';
import type { TargetCache } from '../targets/target-cache.ts';

/** What every check needs, built once by `main`. */
export interface CheckContext {
  readonly targets: TargetCache;
  readonly recorder: Recorder;
  readonly egress: Egress;
  readonly metrics: CheckerMetrics;
  /** Aborts probes that still run when the process must end. */
  readonly shutdown: AbortSignal;
  /** Tells the notifier of a status change whose deliveries are due; a hint, so it never fails. */
  readonly announce: (statusChangeId: string) => void;
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

/**
 * Probes a target, records the result and announces what follows: one check, scheduled or triggered.
 * @throws JobReturnedError where the process shuts down before the result was recorded
 */
export async function runCheck(
  context: CheckContext,
  target: CheckTarget,
  request: CheckRequest,
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
      },
      context.egress,
      context.shutdown,
    );
    context.metrics.checkSeconds.observe({ region: request.region }, (performance.now() - startedAt) / 1_000);
    const outcome = await context.recorder.record({
      ...request,
      ...result,
      monitorId: target.monitorId,
      revision: target.revision,
    });
    follow(context, target, request, result.status, outcome);
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
): void {
  if (outcome.kind !== 'recorded') {
    metrics.dropped.inc({ reason: outcome.kind });
    if (outcome.kind === 'gone') targets.evict(target.monitorId);
    return;
  }
  metrics.checks.inc({ region, source, status });
  if (outcome.outdated) targets.evict(target.monitorId);
  if (outcome.statusChangeId !== null) announce(outcome.statusChangeId);
}
