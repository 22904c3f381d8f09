import { dropExpiredRollups } from '@tocsin/db/check-rollups/partitions';
import type { Database } from '@tocsin/db/database/open';
import { purgeDeletedMonitors } from '@tocsin/db/deleted-monitors/purge';
import { deleteFinished } from '@tocsin/db/deliveries/delete-finished';
import { dropExpiredEventPartitions } from '@tocsin/db/events/drop-expired-partitions';
import { ensureEventPartitions } from '@tocsin/db/events/ensure-partitions';
import { deleteOldIdempotencyKeys } from '@tocsin/db/idempotency-keys/delete-old';
import { alignSpans } from '@tocsin/db/schedule-spans/align-spans';
import { deleteExpiredSessions } from '@tocsin/db/sessions/delete-expired';
import { deleteOldTriggers } from '@tocsin/db/triggers/delete-old-triggers';
import type { Logger } from '@tocsin/runtime/logger';
import { createLoop } from '@tocsin/runtime/loop';
import type { Loop } from '@tocsin/runtime/loop';

const EVERY_MS = 10 * 60_000;

export interface HousekeepingOptions {
  readonly db: Database;
  readonly retentionDays: number;
  /** Of the api processes, one keeps house. */
  readonly isLeader: () => boolean;
  readonly logger: Logger;
}

/** Keeps partitions ahead and behind, and deletes what is over: triggers, sessions, traces of deleted monitors (design §5). */
export function startHousekeeping(options: HousekeepingOptions): Loop {
  const { isLeader, logger } = options;
  return createLoop({
    name: 'Housekeeping',
    everyMs: EVERY_MS,
    logger,
    work: async (signal) => {
      if (isLeader()) await keepHouse(options, signal);
    },
  });
}

/** One round; safe to run from several processes at once. */
export async function keepHouse(
  { db, retentionDays, logger }: HousekeepingOptions,
  signal?: AbortSignal,
): Promise<void> {
  await ensureEventPartitions(db);
  const aligned = await alignSpans(db);
  if (aligned > 0) logger.info('Mended the schedule spans of monitors', { monitors: aligned });
  const triggers = await deleteOldTriggers(db);
  const idempotencyKeys = await deleteOldIdempotencyKeys(db);
  const expired = await deleteExpiredSessions(db);
  const finished = await deleteFinished(db, retentionDays, signal);
  const purgedMonitors = await purgeDeletedMonitors(db, signal);
  logger.debug('Kept house', { triggers, idempotencyKeys, purgedMonitors, ...expired, ...finished });
  // Last: a table that is in use is dropped another time, and nothing else waits for that.
  const dropped = await dropExpiredEventPartitions(db, retentionDays);
  if (dropped.length > 0) logger.info('Dropped expired events', { partitions: dropped });
  const rollups = await dropExpiredRollups(db, Date.now());
  if (rollups.length > 0) logger.info('Dropped expired rollups', { partitions: rollups });
}
