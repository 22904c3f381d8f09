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
  /** Of the api processes, one runs the tasks. */
  readonly isLeader: () => boolean;
  readonly logger: Logger;
}

/** Runs the maintenance tasks every ten minutes on the leader (design §5). */
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

/**
 * Runs every maintenance task once. Several processes may do so at once. A task that fails does not stop the others.
 * @param signal ends it after the current batch
 * @throws AggregateError of the tasks that failed; each is logged
 */
export async function keepHouse(
  options: HousekeepingOptions,
  signal: AbortSignal = new AbortController().signal,
): Promise<void> {
  const failures: unknown[] = [];
  for (const [task, work] of tasks(options, signal)) {
    if (signal.aborted) return;
    try {
      options.logger.debug('Finished a maintenance task', { task, result: await work() });
    } catch (error) {
      failures.push(error);
      options.logger.error('A maintenance task failed', { task, error });
    }
  }
  if (failures.length > 0) throw new AggregateError(failures, `Failed maintenance tasks: ${failures.length}`);
}

function tasks(
  { db, retentionDays, logger }: HousekeepingOptions,
  signal: AbortSignal,
): readonly (readonly [task: string, work: () => Promise<unknown>])[] {
  return [
    ['create event partitions', () => ensureEventPartitions(db)],
    ['align schedule spans', () => alignAndReport(db, logger)],
    ['delete old triggers', () => deleteOldTriggers(db, signal)],
    ['delete old idempotency keys', () => deleteOldIdempotencyKeys(db, signal)],
    ['delete expired sessions', () => deleteExpiredSessions(db, signal)],
    ['delete finished deliveries', () => deleteFinished(db, retentionDays, signal)],
    ['purge deleted monitors', () => purgeDeletedMonitors(db, signal)],
    // Last: a partition that is in use is dropped in a later round, and no other task waits for it.
    ['drop expired events', () => report(logger, 'events', dropExpiredEventPartitions(db, retentionDays))],
    ['drop expired rollups', () => report(logger, 'rollups', dropExpiredRollups(db, Date.now(), signal))],
  ];
}

async function alignAndReport(db: Database, logger: Logger): Promise<void> {
  const aligned = await alignSpans(db);
  if (aligned > 0) logger.info('Mended the schedule spans of monitors', { monitors: aligned });
}

async function report(logger: Logger, what: string, dropped: Promise<string[]>): Promise<void> {
  const partitions = await dropped;
  if (partitions.length > 0) logger.info(`Dropped expired ${what}`, { partitions });
}
