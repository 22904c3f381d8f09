import type { TestResult, takeTestCheck } from '@tocsin/db/test-checks/test-checks';
import { SpanKind, withSpan } from '@tocsin/runtime/tracing';
import { ProbeAbortedError, type ProbeResult, ProbeThrottledError } from '@tocsin/probe/probe';
import type { CheckContext } from './run-check.ts';

export interface TrialChecks {
  readonly take: (id: string) => ReturnType<typeof takeTestCheck>;
  readonly record: (id: string, result: TestResult) => Promise<void>;
}

/** Runs a trial check once, with settings that are not saved. Records no event and changes no status. */
export async function runTrialCheck(
  { prober, metrics }: Pick<CheckContext, 'prober' | 'metrics'>,
  trialChecks: TrialChecks,
  region: string,
  id: string,
): Promise<void> {
  const check = await trialChecks.take(id);
  if (check === null) return;
  const { accountId: account, request } = check;
  const { timeout, ...target } = request;
  const attributes = { 'tocsin.region': region, 'tocsin.check.source': 'test' };
  await withSpan('test check', { kind: SpanKind.CONSUMER, attributes }, async () => {
    const timeoutMs = timeout * 1_000;
    try {
      const result = await prober.probe({
        ...target,
        timeoutMs,
        isTrial: true,
        owner: { account, resource: id },
      });
      if (result.ownFailure !== null) metrics.ownFailures.inc({ reason: result.ownFailure });
      await trialChecks.record(id, toTrialResult(result));
    } catch (error) {
      if (error instanceof ProbeThrottledError) metrics.skipped.inc({ region, reason: error.reason });
      else if (!(error instanceof ProbeAbortedError)) throw error;
    }
  });
}

function toTrialResult(result: ProbeResult): TestResult {
  const { status, latencyMs, statusCode, errorReason, errorDetail, ownFailure, timings, response } = result;
  return {
    status,
    latency: latencyMs,
    statusCode,
    errorReason,
    errorDetail,
    inconclusive: ownFailure !== null,
    timings,
    assertions: result.assertions ?? [],
    response: statusCode === null || response === null ? null : { statusCode, ...response() },
  };
}
