import { rollUpNextHour, type RollupState } from '@tocsin/db/check-rollups/roll-up';
import { sumUpNextDay } from '@tocsin/db/check-rollups/sum-days';
import type { RefusedRecord } from '@tocsin/db/database/try-alone';
import type { Logger } from '@tocsin/runtime/logger';
import { createLoop, type Loop } from '@tocsin/runtime/loop';
import { createReading, type Metrics, registerReadGauge, registerReadNumber } from '@tocsin/runtime/metrics';
import { BACKGROUND_SHARE, type LeaderLoopOptions } from './housekeeping.ts';

const EVERY_MS = 60_000;

/**
 * Rolls up each finished hour of events (ADR 8), and sums up each finished day. Pauses while the clock may be wrong, because hours that it
 * skips would lose their checks.
 */
export function startRollUps({
  db,
  databaseClock,
  isLeader,
  periodMinutes,
  logger,
}: LeaderLoopOptions & {
  /** Length of a rolled-up period. Defaults to an hour. */
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
        if (rolled === null) break;
        logger.debug('Rolled up an hour of checks', rolled);
      }
      while (isLeader() && !signal.aborted) {
        if (!(await sumUpNextDay(db, { share: BACKGROUND_SHARE, signal }))) return;
      }
    },
  });
}

/** Maximum regions in the gauge. Regions with the most gaps come first. */
const MAX_REGIONS = 100;

/** Exports the progress of rollups and the gaps of the last hour, with the same values in every api process. */
export function registerRollupMetrics(
  registry: Metrics,
  readState: () => Promise<RollupState | null>,
  logger: Logger,
): void {
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
