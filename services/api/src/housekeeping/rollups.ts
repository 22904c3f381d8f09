import { rollUpNextHour, type RollupState } from '@tocsin/db/check-rollups/roll-up';
import type { RefusedRecord } from '@tocsin/db/database/try-alone';
import type { Logger } from '@tocsin/runtime/logger';
import { createLoop, type Loop } from '@tocsin/runtime/loop';
import { createReading, type Metrics, registerReadGauge, registerReadNumber } from '@tocsin/runtime/metrics';
import { BACKGROUND_SHARE, type LeaderLoopOptions } from './housekeeping.ts';

const EVERY_MS = 60_000;

/**
 * Rolls up each finished hour of events (ADR 8). It pauses while the clock may be wrong: hours that a clock jumped over would be rolled up
 * without their checks, and never again.
 */
export function startRollUps({
  db,
  databaseClock,
  isLeader,
  periodMinutes,
  logger,
}: LeaderLoopOptions & {
  /** The length of a rolled-up period; default: an hour. */
  readonly periodMinutes?: number;
}): Loop {
  return createLoop({
    name: 'Rolling up checks',
    everyMs: EVERY_MS,
    logger,
    work: async (signal) => {
      while (isLeader() && !signal.aborted) {
        if (!(await databaseClock.read()).agrees) return;
        const onRefused = ({ id: monitorId, error }: RefusedRecord): void => {
          logger.error('PostgreSQL refuses to count the checks of a monitor', { monitorId, error });
        };
        const rolled = await rollUpNextHour(db, {
          periodMinutes,
          share: BACKGROUND_SHARE,
          onRefused,
          signal,
        });
        if (rolled === null) return;
        logger.debug('Rolled up an hour of checks', rolled);
      }
    },
  });
}

/** Regions in the gauge, those with the most gaps first. */
const MAX_REGIONS = 100;

export interface RollupMetricsOptions {
  readonly registry: Metrics;
  /** Null: no hour is rolled up yet. */
  readonly readState: () => Promise<RollupState | null>;
  readonly logger: Logger;
}

/** Exports how far events are rolled up, and how many checks of the last hour did not run: the same values in every api process. */
export function registerRollupMetrics({ registry, readState, logger }: RollupMetricsOptions): void {
  const reading = createReading({ what: 'how far checks are rolled up', read: readState, logger });
  registerReadNumber(
    registry,
    {
      name: 'tocsin_rollup_watermark_seconds',
      help: 'Unix time of the end of the last hour whose checks are rolled up; more than two hours ago: nothing rolls up.',
    },
    reading,
    ({ rolledUntil }) => rolledUntil.getTime() / 1_000,
  );
  registerReadGauge(registry, {
    name: 'tocsin_rollup_gaps',
    help: 'Planned checks of the last hour rolled up that did not happen; regions without any are left out.',
    labelNames: ['region'],
    samples: async () =>
      Object.entries((await reading())?.lastGaps ?? {})
        .toSorted(([, one], [, other]) => other - one)
        .slice(0, MAX_REGIONS)
        .map(([region, value]) => ({ labels: { region }, value })),
  });
}
