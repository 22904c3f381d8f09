import type { JobPayload } from '@tocsin/contracts/jobs';
import { type Wave, waveId } from '@tocsin/core/schedule/slots';
import type { Database } from '@tocsin/db/database/open';
import { listRetriedMembers, listWaveMembers } from '@tocsin/db/monitor-regions/schedules';
import { takeTrigger } from '@tocsin/db/triggers/triggers';
import { type JobWorker, startJobWorker } from '@tocsin/queue/job-worker';
import type { OverlapGuard } from '@tocsin/queue/overlap-guard';
import type { Producers } from '@tocsin/queue/producers';
import type { QueueStore } from '@tocsin/queue/queue-store';
import { batchCalls } from '@tocsin/runtime/batch-calls';
import type { Logger } from '@tocsin/runtime/logger';
import { withDeadline } from '@tocsin/runtime/timeout';
import { runLinkedTo, SpanKind, withSpan } from '@tocsin/runtime/tracing';
import { CheckCapacity } from '../checks/check-capacity.ts';
import { CheckJobs } from '../checks/check-jobs.ts';
import type { RegionAgents } from '../checks/missed-slots.ts';
import type { CheckContext } from '../checks/run-check.ts';
import { ScheduledChecks } from '../checks/scheduled-check.ts';
import { runTrialCheck, type TrialChecks } from '../checks/trial-check.ts';
import { runTriggeredCheck } from '../checks/triggered-check.ts';

/** Maximum concurrent jobs that do more than wait. `CheckCapacity` limits the checks, and the api limits the triggers of each account. */
const CHECK_JOBS = 500;
const TRIGGER_JOBS = 200;
/** Maximum jobs including waiting ones, which cost some kilobytes and lock renewals. Exceeds the slow checks that run or wait for a permit. */
const MAX_CHECK_JOBS = 10_000;
const MAX_CHECK_JOBS_PER_CONCURRENCY = 16;
const MAX_TRIGGER_JOBS = 2_000;
/** A triggered check that takes this long only waits for its target. */
const TRIGGER_SLOW_AFTER_MS = 1_000;
/** If jobs wait, a worker without progress for this long is stuck. */
const STUCK_AFTER_MS = 60_000;
/** Limits for queries for members of waves. Of the ten connections, recording takes up to four and reading monitors two. */
const LISTS = { maxConcurrent: 3, maxSize: 100 };
const COUNT_WITHIN_MS = 1_000;

export interface RegionWorkersOptions {
  readonly region: string;
  readonly concurrency: number;
  /** Defaults to the limit of `CheckCapacity`. */
  readonly slowLimit?: number;
  readonly agents?: RegionAgents;
  readonly store: QueueStore;
  readonly producers: Producers;
  readonly db: Database;
  readonly context: CheckContext;
  readonly trialChecks: TrialChecks;
  readonly logger: Logger;
}

export interface RegionWorkers {
  readonly region: string;
  /** @throws Error if jobs wait and the workers make no progress */
  checkProgress(): Promise<void>;
  /** Stops or resumes scheduled checks. Triggered checks always run. */
  halt(halted: boolean): void;
  /** Changes how many checks run concurrently. */
  resize(concurrency: number, slowLimit: number): void;
  close(): Promise<void>;
}

/** Starts the workers of a region's checks and triggers. Separate queues keep a backlog from delaying triggers. */
export function startRegionWorkers(options: RegionWorkersOptions): RegionWorkers {
  const { region, concurrency, store, producers, context, logger } = options;
  // Autoscaling recognizes the checkers of a region by this series, even before their first check.
  context.metrics.lagSeconds.zero({ region });
  const capacity = new CheckCapacity({
    concurrency,
    ...(options.slowLimit !== undefined && { slowLimit: options.slowLimit }),
    isStalled: () => context.recorder.stalled,
  });
  const onFailed = (jobId: string, error: Error): void => {
    logger.error('A check failed to run', { region, jobId, error });
  };
  const jobs = createCheckJobs(options, capacity, store.overlapGuard);
  const checks = startJobWorker(store, {
    kind: 'check',
    region,
    concurrency: CHECK_JOBS,
    maxConcurrency: Math.max(MAX_CHECK_JOBS, MAX_CHECK_JOBS_PER_CONCURRENCY * concurrency),
    process: (payload, ...job) => {
      if ('monitorId' in payload) return jobs.run(payload, ...job);
      const attributes = { 'tocsin.region': region, 'tocsin.wave': waveId(payload) };
      // Each check has its own trace, so that checks are sampled individually.
      return withSpan('wave', { kind: SpanKind.CONSUMER, attributes }, (span) =>
        runLinkedTo(span, () => jobs.run(payload, ...job)),
      );
    },
    onFailed,
  });
  // Other processes take the jobs that this one cannot start yet.
  capacity.onBacklog((isBehind) => checks.takeMore(!isBehind));
  const triggers = startJobWorker(store, {
    kind: 'trigger',
    region,
    concurrency: TRIGGER_JOBS,
    maxConcurrency: MAX_TRIGGER_JOBS,
    process: (payload, _jobId, _history, worker) => exemptWhenSlow(worker, runTrigger(options, payload)),
    onFailed,
  });
  return {
    region,
    checkProgress: async () => {
      if (checks.isHalted || checks.idleMs < STUCK_AFTER_MS || context.recorder.stalled) return;
      const counting = producers.queue('check', region).getWaitingCount();
      // A restart would not help against an unresponsive store.
      const waiting = await withDeadline(counting, COUNT_WITHIN_MS, 'counting').catch(() => 0);
      if (waiting > 0) throw new Error(`${waiting} checks wait in ${region} and none was started`);
    },
    halt: (halted) => checks.halt(halted),
    resize: (...limits) => capacity.resize(...limits),
    close: async () => {
      capacity.close();
      await Promise.all([checks.close(), triggers.close()]);
    },
  };
}

function createCheckJobs(
  { region, db, context, logger, agents }: RegionWorkersOptions,
  capacity: CheckCapacity,
  overlapGuard: OverlapGuard,
): CheckJobs {
  const scheduled = new ScheduledChecks({ ...context, region, capacity, overlapGuard, agents, logger });
  const listMembersNow = batchCalls((waves: readonly Wave[]) => listWaveMembers(db, region, waves), LISTS);
  return new CheckJobs({
    runCheck: (...args) => scheduled.run(...args),
    listMembers: async (wave, unrecordedSlot) =>
      unrecordedSlot === undefined
        ? listMembersNow(wave)
        : (await listWaveMembers(db, region, [wave], unrecordedSlot)).flat(),
    addRetries: async (wave, slot) => {
      const failed = await listRetriedMembers(db, region, wave, slot);
      await Promise.all(failed.map((plan) => context.retry(plan, region, slot)));
    },
    onFailed: ({ monitorId }, jobId, error) => {
      logger.error('A check failed to run', { region, jobId, monitorId, error });
    },
  });
}

async function runTrigger(
  { region, db, context, trialChecks }: RegionWorkersOptions,
  payload: JobPayload<'trigger'>,
): Promise<void> {
  const triggered = { ...context, takeTrigger: (id: string) => takeTrigger(db, id) };
  const isTrigger = await runTriggeredCheck(triggered, payload);
  if (!isTrigger) await runTrialCheck(context, trialChecks, region, payload.triggerId);
}

/** Lets the worker take another job if this one runs for longer than a second. */
async function exemptWhenSlow(worker: JobWorker, running: Promise<void>): Promise<void> {
  let end: (() => void) | undefined;
  const timer = setTimeout(() => (end = worker.exempt()), TRIGGER_SLOW_AFTER_MS);
  try {
    await running;
  } finally {
    clearTimeout(timer);
    end?.();
  }
}
