import { rollUpNextHour } from '@tocsin/db/check-rollups/roll-up';
import type { RollupState } from '@tocsin/db/check-rollups/roll-up';
import type { Database } from '@tocsin/db/database/open';
import type { Logger } from '@tocsin/runtime/logger';
import { createLoop } from '@tocsin/runtime/loop';
import type { Loop } from '@tocsin/runtime/loop';
import { createReading, registerReadGauge, registerReadNumber } from '@tocsin/runtime/metrics';
import type { Metrics } from '@tocsin/runtime/metrics';
import type { DatabaseClock } from './database-clock.ts';

const EVERY_MS = 60_000;

export interface RollUpOptions {
  readonly db: Database;
  readonly databaseClock: DatabaseClock;
  /** Of the api processes, one rolls up. */
  readonly isLeader: () => boolean;
  readonly logger: Logger;
}

/**
 * Rolls each hour of events up when it is finished (ADR 8); a loop of its own, so that a backlog holds nothing else up. None
 * by a clock that may be wrong: hours that a clock jumped over would be rolled up without their checks, and never again.
 */
export function startRollUps({ db, databaseClock, isLeader, logger }: RollUpOptions): Loop {
  return createLoop({
    name: 'Rolling up checks',
    everyMs: EVERY_MS,
    logger,
    work: async (signal) => {
      while (isLeader() && !signal.aborted) {
        if (!(await databaseClock.read()).agrees) return;
        const rolled = await rollUpNextHour(db, { signal });
        if (rolled === null) return;
        logger.debug('Rolled up an hour of checks', rolled);
      }
    },
  });
}

/** Series of the gauge; the regions with the most gaps come first. */
const MOST_REGIONS = 100;

export interface RollupMetricsOptions {
  readonly registry: Metrics;
  /** Null: no hour is rolled up yet. */
  readonly readState: () => Promise<RollupState | null>;
  readonly logger: Logger;
}

/**
 * Shows how far the events are rolled up, and how many checks of the last hour did not happen: the same in every api process.
 * What cannot be read is left out, and never breaks or holds up the scrape.
 */
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
        .slice(0, MOST_REGIONS)
        .map(([region, value]) => ({ labels: { region }, value })),
  });
}
