import { readRollupState, writeClockDoubt } from '@tocsin/db/check-rollups/roll-up';
import type { Database } from '@tocsin/db/database/open';
import { readClock } from '@tocsin/db/database/sql';
import type { Producers } from '@tocsin/queue/producers';
import type { Logger } from '@tocsin/runtime/logger';
import type { Loop } from '@tocsin/runtime/loop';
import type { Metrics } from '@tocsin/runtime/metrics';
import { DatabaseClock } from './housekeeping/database-clock.ts';
import { startHousekeeping } from './housekeeping/housekeeping.ts';
import { startRollUps } from './housekeeping/rollups.ts';
import { startPlanningWindows } from './maintenance-windows/plan-windows.ts';
import { Reconciler, startReconciler } from './schedule/reconciler.ts';
import { ScheduleApplier } from './schedule/schedule-applier.ts';
import { createScheduleMetrics, registerLeadership } from './schedule/schedule-metrics.ts';
import { traceSync } from './schedule/sync-schedules.ts';
import type { Env } from './settings.ts';

export interface BackgroundOptions {
  readonly env: Env;
  readonly db: Database;
  readonly producers: Producers;
  /** Regions that have a queue store of their own. */
  readonly regions: Iterable<string>;
  readonly metrics: Metrics;
  readonly logger: Logger;
}

/** What the api does besides serving requests. */
export interface Background {
  /** Keeps the queue's store as Postgres wants it right after each commit. */
  readonly schedules: ScheduleApplier;
  /** Starts the loops of the leader: one api process at a time runs their work. */
  start(): void;
  stop(): Promise<void>;
}

export function createBackground(options: BackgroundOptions): Background {
  const { env, db, producers, logger } = options;
  const metrics = createScheduleMetrics(options.metrics);
  const schedules = new ScheduleApplier({
    sync: traceSync({ db, producers }),
    onSynced: (region, applied) => metrics.synced(region, 'commit', applied),
    logger,
  });
  const reconciler = new Reconciler({
    db,
    producers,
    defaultRegion: env.DEFAULT_REGION,
    regions: [env.DEFAULT_REGION, ...(env.REGIONS ?? []), ...options.regions],
    metrics,
    logger,
  });
  const loops: Pick<Loop, 'stop'>[] = [schedules];
  return {
    schedules,
    start: () => {
      const leader = startReconciler(reconciler, env.DATABASE_DIRECT_URL ?? env.DATABASE_URL, logger);
      const isLeader = (): boolean => leader.isLeader();
      registerLeadership(options.metrics, () => leader.leadership());
      const databaseClock = new DatabaseClock({
        readClock: () => readClock(db),
        readState: () => readRollupState(db),
        writeDoubt: (doubtedMs) => writeClockDoubt(db, doubtedMs),
        logger,
      });
      const common = { db, databaseClock, isLeader, logger };
      loops.push(
        leader,
        startHousekeeping({ ...common, retentionDays: env.EVENT_RETENTION_DAYS }),
        startRollUps(common),
        startPlanningWindows(common),
      );
    },
    stop: async () => {
      await Promise.all(loops.map((loop) => loop.stop()));
    },
  };
}
