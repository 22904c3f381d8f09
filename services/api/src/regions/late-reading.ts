import type { LateRegions } from '@tocsin/db/regions/late-regions';
import type { Logger } from '@tocsin/runtime/logger';
import { createReading, type Reading } from '@tocsin/runtime/metrics';

/** So that a late region is shown within 30 s of the first check without a result. */
const FRESH_FOR_MS = 2_000;
/** A read that takes so long has waited for Postgres. */
const SLOW_MS = 5_000;
/** When Postgres is back, checkers need some seconds to record what waited for it. Until then, every region looks late. */
const SETTLE_MS = 10_000;

export interface LateReadingOptions {
  readonly read: () => Promise<LateRegions>;
  readonly logger: Logger;
  readonly now?: () => number;
}

/** The late regions, at most two seconds old. They are unknown during an outage of Postgres, and for ten seconds after it. */
export function createLateReading(options: LateReadingOptions): Reading<LateRegions> {
  const { read, logger, now = () => performance.now() } = options;
  let unavailableAt = -Infinity;
  const readSettled = async (): Promise<LateRegions | null> => {
    const startedAt = now();
    let isDone = false;
    try {
      const late = await read();
      isDone = now() - startedAt < SLOW_MS;
      return isDone && now() - unavailableAt >= SETTLE_MS ? late : null;
    } finally {
      if (!isDone) unavailableAt = now();
    }
  };
  const reading = createReading({
    what: 'the late regions',
    read: readSettled,
    freshForMs: FRESH_FOR_MS,
    logger,
    now,
  });
  return () => reading();
}
