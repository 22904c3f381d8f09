import type { JobPayload } from '@tocsin/contracts/jobs';
import { type Wave, waveId } from '@tocsin/core/schedule/slots';
import type { Database } from '@tocsin/db/database/open';
import { listRetriedMembers, listWaveMembers, type WaveMember } from '@tocsin/db/monitor-regions/schedules';
import { takeTrigger } from '@tocsin/db/triggers/triggers';
import { type JobWorker, startJobWorker } from '@tocsin/queue/job-worker';
import type { Producers } from '@tocsin/queue/producers';
import type { QueueStores } from '@tocsin/queue/queue-stores';
import type { Logger } from '@tocsin/runtime/logger';
import { withDeadline } from '@tocsin/runtime/timeout';
import { runLinkedTo, SpanKind, withSpan } from '@tocsin/runtime/tracing';
import { CheckCapacity } from '../checks/check-capacity.ts';
import { CheckJobs } from '../checks/check-jobs.ts';
import type { CheckContext } from '../checks/run-check.ts';
import { ScheduledChecks } from '../checks/scheduled-check.ts';
import { runTestCheck, type TestChecks } from '../checks/test-check.ts';
import { runTriggeredCheck } from '../checks/triggered-check.ts';
import { shareQueries } from '../targets/share-queries.ts';

/** Concurrent jobs of a process that do more than wait. `CheckCapacity` limits the checks, and the api the triggers of each account. */
const CHECK_JOBS = 500;
const TRIGGER_JOBS = 200;
/** Including those that wait, each of which costs some kilobytes and lock renewals. More than the slow checks that run or wait for a permit. */
const MAX_CHECK_JOBS = 10_000;
const MAX_CHECK_JOBS_PER_CONCURRENCY = 16;
const MAX_TRIGGER_JOBS = 2_000;
/** Triggers are rare. */
const MAX_TRIGGER_WORKERS = 4;
/** A triggered check that has run for this long only waits for its target. */
const TRIGGER_SLOW_AFTER_MS = 1_000;
/** A worker is stuck if jobs wait and it has made no progress for this long. */
const STUCK_AFTER_MS = 60_000;
/** Queries of a region for the members of its waves. Recording takes up to four of the ten connections, and reading monitors two. */
const LISTS = { maxQueries: 3, maxKeys: 100 };
const COUNT_WITHIN_MS = 1_000;

export interface RegionWorkersOptions {
  readonly region: string;
  readonly concurrency: number;
  /** How many workers of BullMQ take the checks; see `workersFor`. Default: 1. */
  readonly workers?: number;
  readonly stores: QueueStores;
  readonly producers: Producers;
  readonly db: Database;
  readonly context: CheckContext;
  readonly testChecks: TestChecks;
  readonly logger: Logger;
}

export interface RegionWorkers {
  readonly region: string;
  /** @throws Error if jobs wait and the workers make no progress */
  checkProgress(): Promise<void>;
  /** Stops taking scheduled checks, or takes them again. Triggered checks run in any case. */
  halt(halted: boolean): void;
  /** Stops taking jobs and waits for those that run. */
  close(): Promise<void>;
}

/** Starts the workers of a region's checks and of its triggers: two queues, so that no backlog delays a trigger. */
export function startRegionWorkers(options: RegionWorkersOptions): RegionWorkers {
  const { region, stores, producers, db, context, testChecks, logger } = options;
  const store = stores.forRegion(region);
  // Autoscaling recognizes the checkers of a region by this series, also before their first check.
  context.metrics.lagSeconds.zero({ region });
  const capacity = new CheckCapacity({
    concurrency: options.concurrency,
    isStalled: () => context.recorder.stalled,
    // Other processes take the jobs that this one cannot start yet.
    onBacklog: (isBehind) => checks.takeMore(!isBehind),
  });
  const { overlapGuard } = store;
  const scheduled = new ScheduledChecks({ ...context, region, capacity, overlapGuard, logger });
  const triggered = { ...context, takeTrigger: (id: string) => takeTrigger(db, id) };
  const onFailed = (jobId: string, error: Error): void => {
    logger.error('A check failed to run', { region, jobId, error });
  };
  const listMembersNow = shareQueries((waves: readonly Wave[]) => listWaveMembers(db, region, waves), LISTS);
  const listMembers = async (wave: Wave, unrecordedSlot?: number): Promise<WaveMember[]> => {
    if (unrecordedSlot === undefined) return listMembersNow(wave);
    return (await listWaveMembers(db, region, [wave], unrecordedSlot)).flat();
  };
  const jobs = new CheckJobs({
    // A wave whose checks wait for permits may last longer than `STUCK_AFTER_MS`.
    runCheck: (...args) => scheduled.run(...args).finally(() => checks.noteProgress()),
    onWaiting: () => checks.exempt(),
    listMembers,
    addRetries: async (wave, slot) => {
      const failed = await listRetriedMembers(db, region, wave, slot);
      await Promise.all(failed.map((plan) => context.retry(plan, region, slot)));
    },
    onFailed: ({ monitorId }, jobId, error) => {
      logger.error('A check failed to run', { region, jobId, monitorId, error });
    },
  });
  const checks: JobWorker = startJobWorker(store, {
    kind: 'check',
    region,
    workers: options.workers,
    concurrency: CHECK_JOBS,
    maxConcurrency: Math.max(MAX_CHECK_JOBS, MAX_CHECK_JOBS_PER_CONCURRENCY * options.concurrency),
    process: (payload, jobId, history) => {
      if ('monitorId' in payload) return jobs.run(payload, jobId, history);
      const attributes = { 'tocsin.region': region, 'tocsin.wave': waveId(payload) };
      // Each check is a trace of its own, so that checks are sampled one by one.
      return withSpan('wave', { kind: SpanKind.CONSUMER, attributes }, (span) =>
        runLinkedTo(span, () => jobs.run(payload, jobId, history)),
      );
    },
    onFailed,
  });
  const runTrigger = async (payload: JobPayload<'trigger'>): Promise<void> => {
    const isTrigger = await runTriggeredCheck(triggered, payload);
    if (!isTrigger) await runTestCheck(context, testChecks, region, payload.triggerId);
  };
  const triggers: JobWorker = startJobWorker(store, {
    kind: 'trigger',
    region,
    workers: Math.min(options.workers ?? 1, MAX_TRIGGER_WORKERS),
    concurrency: TRIGGER_JOBS,
    maxConcurrency: MAX_TRIGGER_JOBS,
    process: (payload) => exemptWhenSlow(triggers, runTrigger(payload)),
    onFailed,
  });
  const workers = [checks, triggers];
  return {
    region,
    checkProgress: async () => {
      if (checks.isHalted || checks.idleMs < STUCK_AFTER_MS || context.recorder.stalled) return;
      const counting = producers.queue('check', region).getWaitingCount();
      // A restart would not help against a store that does not respond.
      const waiting = await withDeadline(counting, COUNT_WITHIN_MS, 'counting').catch(() => 0);
      if (waiting > 0) throw new Error(`${waiting} checks wait in ${region} and none was started`);
    },
    halt: (halted) => checks.halt(halted),
    close: async () => {
      capacity.close();
      await Promise.all(workers.map((worker) => worker.close()));
    },
  };
}

/** Lets the worker take a further job if this one runs for longer than a second. */
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
