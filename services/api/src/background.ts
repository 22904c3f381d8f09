import { readRollupState, writeClockDoubt } from '@tocsin/db/check-rollups/roll-up';
import { readClock } from '@tocsin/db/database/sql';
import type { Producers } from '@tocsin/queue/producers';
import type { Loop } from '@tocsin/runtime/loop';
import type { ApiContext } from './context.ts';
import { DatabaseClock } from './housekeeping/database-clock.ts';
import { startHousekeeping } from './housekeeping/housekeeping.ts';
import { startRollUps } from './housekeeping/rollups.ts';
import { startPlanningWindows } from './maintenance-windows/plan-windows.ts';
import { Reconciler, startReconciler } from './schedule/reconciler.ts';
import { ScheduleApplier } from './schedule/schedule-applier.ts';
import { createScheduleMetrics, registerLeadership } from './schedule/schedule-metrics.ts';
import { traceSync } from './schedule/sync-schedules.ts';
import type { Env } from './settings.ts';

export interface Background {
  /** Updates the queue right after each commit. */
  readonly schedules: ScheduleApplier;
  /** Starts the loops that run in one api process at a time. */
  start(): void;
  stop(): Promise<void>;
}

export function createBackground(
  { db, metrics: registry, logger }: Pick<ApiContext, 'db' | 'metrics' | 'logger'>,
  env: Env,
  producers: Producers,
): Background {
  const metrics = createScheduleMetrics(registry);
  const schedules = new ScheduleApplier({
    sync: traceSync({ db, producers }),
    onSynced: (region, applied) => metrics.synced(region, 'commit', applied),
    logger,
  });
  const reconciler = new Reconciler({
    db,
    producers,
    defaultRegion: env.DEFAULT_REGION,
    regions: [env.DEFAULT_REGION, ...(env.REGIONS ?? [])],
    metrics,
    logger,
  });
  const loops: Pick<Loop, 'stop'>[] = [schedules];
  return {
    schedules,
    start: () => {
      const leader = startReconciler(reconciler, env.DATABASE_DIRECT_URL ?? env.DATABASE_URL, logger);
      registerLeadership(registry, () => leader.leadership());
      const databaseClock = new DatabaseClock({
        readClock: () => readClock(db),
        readState: () => readRollupState(db),
        writeDoubt: (doubtedMs) => writeClockDoubt(db, doubtedMs),
        logger,
      });
      const common = { db, databaseClock, isLeader: () => leader.isLeader(), logger };
      loops.push(
        leader,
        startHousekeeping({
          ...common,
          retentionDays: env.EVENT_RETENTION_DAYS,
          partitionMinutes: env.EVENT_PARTITION_MINUTES,
        }),
        startRollUps({ ...common, periodMinutes: env.ROLLUP_PERIOD_MINUTES }),
        startPlanningWindows(common),
      );
    },
    stop: async () => {
      await Promise.all(loops.map((loop) => loop.stop()));
    },
  };
}
