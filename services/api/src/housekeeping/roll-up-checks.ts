import { rollUpNextHour } from '@tocsin/db/check-rollups/roll-up-hour';
import type { Database } from '@tocsin/db/database/open';
import type { Logger } from '@tocsin/runtime/logger';
import { createLoop } from '@tocsin/runtime/loop';
import type { Loop } from '@tocsin/runtime/loop';
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
