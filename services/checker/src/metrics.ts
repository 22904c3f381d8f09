import { OWN_FAILURES } from '@tocsin/core/checks/describe-error';
import type { Metrics } from '@tocsin/runtime/metrics';
import { Counter, Histogram } from 'prom-client';

/**
 * `throttled` checks exceeded the share of their account. `agent_disconnected`: no agent of the region was connected to this process, or two were
 * lost during the check. `agent_outdated`: no connected agent knows all fields of the check.
 * `no_job` includes skips by other processes.
 */
export const MISS_REASONS = [
  'late',
  'overlap',
  'throttled',
  'unreadable',
  'crashed',
  'agent_disconnected',
  'agent_outdated',
  'no_job',
] as const;
export type MissReason = (typeof MISS_REASONS)[number];

/** `isolated`: no canary responded. `no_dns`: none with a host name did. `unknown`: the round proved nothing. */
export type CanaryRoundResult = 'connected' | 'isolated' | 'no_dns' | 'unknown';

export interface CheckerMetrics {
  readonly checks: Counter<'region' | 'source' | 'status'>;
  readonly ownFailures: Counter<'reason'>;
  readonly canaryRounds: Counter<'region' | 'result'>;
  readonly missed: Counter<'region' | 'reason'>;
  readonly skipped: Counter<'region' | 'reason'>;
  readonly lagSeconds: Histogram<'region'>;
  readonly checkSeconds: Histogram<'region'>;
  readonly dropped: Counter<'reason'>;
  readonly batchSize: Histogram;
  readonly batchSeconds: Histogram;
}

export function createCheckerMetrics(registry: Metrics): CheckerMetrics {
  const registers = [registry];
  const ownFailures = new Counter({
    name: 'tocsin_checks_own_failures_total',
    help: 'Inconclusive checks for which the checker had no port, file descriptor, memory or buffer space, by error code.',
    labelNames: ['reason'],
    registers,
  });
  // `increase` ignores the first value of a series, so each starts with 0.
  for (const reason of Object.keys(OWN_FAILURES)) ownFailures.inc({ reason }, 0);
  return {
    checks: new Counter({
      name: 'tocsin_checks_total',
      help: 'Recorded checks, by status. INCONCLUSIVE: the checker or its network failed, and the result does not count.',
      labelNames: ['region', 'source', 'status'],
      registers,
    }),
    ownFailures,
    canaryRounds: new Counter({
      name: 'tocsin_canary_rounds_total',
      help: 'Rounds of probes of all canaries of an account in a region, by what they showed.',
      labelNames: ['region', 'result'],
      registers,
    }),
    missed: new Counter({
      name: 'tocsin_checks_missed_total',
      help: 'Planned checks that never ran, by reason.',
      labelNames: ['region', 'reason'],
      registers,
    }),
    skipped: new Counter({
      name: 'tocsin_checks_skipped_total',
      help: 'Skipped jobs other than planned checks: monitors of another region, and extra first checks.',
      labelNames: ['region', 'reason'],
      registers,
    }),
    lagSeconds: new Histogram({
      name: 'tocsin_check_schedule_lag_seconds',
      help: 'How long after its planned time a scheduled check started.',
      labelNames: ['region'],
      // The buckets are narrow for a healthy system, because the benchmark reads percentiles from them.
      buckets: [
        0.005, 0.01, 0.015, 0.02, 0.025, 0.035, 0.05, 0.075, 0.1, 0.125, 0.15, 0.2, 0.25, 0.35, 0.5, 0.75, 1,
        1.5, 2.5, 5, 15, 60,
      ],
      registers,
    }),
    checkSeconds: new Histogram({
      name: 'tocsin_check_duration_seconds',
      help: 'How long a probe took.',
      labelNames: ['region'],
      buckets: [0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60],
      registers,
    }),
    dropped: new Counter({
      name: 'tocsin_results_dropped_total',
      help: 'Results that were not recorded: their slot was already recorded, their monitor deleted, or Postgres refused them.',
      labelNames: ['reason'],
      registers,
    }),
    batchSize: new Histogram({
      name: 'tocsin_record_batch_results',
      help: 'Results per recorded batch.',
      buckets: [1, 2, 5, 10, 25, 50, 100, 250, 500],
      registers,
    }),
    batchSeconds: new Histogram({
      name: 'tocsin_record_duration_seconds',
      help: 'How long recording a batch took.',
      buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1, 5],
      registers,
    }),
  };
}
