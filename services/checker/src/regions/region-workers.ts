import { takeTrigger } from '@tocsin/db/triggers/take-trigger';
import type { Database } from '@tocsin/db/database/open';
import { withDeadline } from '@tocsin/queue/deadline';
import { startJobWorker, type JobWorker } from '@tocsin/queue/job-worker';
import type { Producers } from '@tocsin/queue/producers';
import type { QueueStores } from '@tocsin/queue/queue-stores';
import { RegionSchedules } from '@tocsin/queue/schedules';
import type { Logger } from '@tocsin/runtime/logger';
import { ScheduledChecks } from '../checks/scheduled-check.ts';
import type { CheckContext } from '../checks/check-runner.ts';
import { runTriggeredCheck } from '../triggers/triggered-check.ts';

/** Triggers that one process runs at the same time, apart from its scheduled checks. */
const TRIGGER_CONCURRENCY = 20;
/** With jobs waiting and none started or ended for this long, a worker is stuck (design §4 "Jobs"). */
const STUCK_AFTER_MS = 60_000;
const COUNT_WITHIN_MS = 1_000;

export interface RegionWorkersOptions {
  readonly region: string;
  readonly concurrency: number;
  readonly stores: QueueStores;
  readonly producers: Producers;
  readonly db: Database;
  readonly context: CheckContext;
  readonly logger: Logger;
}

/** The workers of one region in this process. */
export interface RegionWorkers {
  readonly region: string;
  /** Throws where jobs wait and the workers make no progress. */
  checkProgress(): Promise<void>;
  /** Stops taking jobs and waits for those that run. */
  close(): Promise<void>;
}

/** Starts the workers of a region's checks and of its triggers: two queues, so that no backlog delays a trigger. */
export function startRegionWorkers(options: RegionWorkersOptions): RegionWorkers {
  const { region, stores, producers, db, context, logger } = options;
  const store = stores.forRegion(region);
  const schedules = new RegionSchedules(producers, region);
  const scheduled = new ScheduledChecks({
    ...context,
    region,
    overlapGuard: store.overlapGuard,
    removeSchedule: (monitorId) => {
      // The reconciler's audit does it otherwise.
      schedules.remove([monitorId]).catch(() => undefined);
    },
    logger,
  });
  const triggered = { ...context, takeTrigger: (id: string) => takeTrigger(db, id) };
  const onFailed = (jobId: string, error: Error): void => {
    logger.error('A check failed to run', { region, jobId, error });
  };
  const workers: JobWorker[] = [
    startJobWorker(store, {
      kind: 'check',
      region,
      concurrency: options.concurrency,
      process: (payload, jobId, stalls) => scheduled.run(payload, jobId, stalls),
      onFailed,
    }),
    startJobWorker(store, {
      kind: 'trigger',
      region,
      concurrency: TRIGGER_CONCURRENCY,
      process: (payload) => runTriggeredCheck(triggered, payload),
      onFailed,
    }),
  ];
  return {
    region,
    checkProgress: async () => {
      const [checks] = workers;
      if (checks === undefined || checks.idleMs < STUCK_AFTER_MS || context.recorder.stalled) return;
      const counting = producers.queue('check', region).getWaitingCount();
      // A store that does not answer is no fault of this process: a restart would not help.
      const waiting = await withDeadline(counting, COUNT_WITHIN_MS, 'counting').catch(() => 0);
      if (waiting > 0) throw new Error(`${waiting} checks wait in ${region} and none was started`);
    },
    close: async () => {
      await Promise.all(workers.map((worker) => worker.close()));
    },
  };
}
