import { purgeDeletedAccounts } from '@tocsin/db/accounts/purge-accounts';
import { dropExpiredRollups } from '@tocsin/db/check-rollups/partitions';
import {
  deleteExpiredSignIns,
  deleteFinished,
  deleteLostAgents,
  deleteOldAuditEntries,
  deleteOldIdempotencyKeys,
  deleteOldTriggers,
} from '@tocsin/db/database/delete-expired';
import type { Database } from '@tocsin/db/database/open';
import { purgeDeletedMonitors } from '@tocsin/db/deleted-monitors/purge';
import { countPackable, packEvents } from '@tocsin/db/events/pack-events';
import { dropExpiredEventPartitions, ensureEventPartitions } from '@tocsin/db/events/partitions';
import { alignSpans } from '@tocsin/db/monitor-regions/schedule-spans';
import type { Logger } from '@tocsin/runtime/logger';
import { createLoop, type Loop } from '@tocsin/runtime/loop';
import { createReading, type Metrics, registerReadNumber } from '@tocsin/runtime/metrics';
import type { DatabaseClock } from './database-clock.ts';

const EVERY_MS = 10 * 60_000;
/** Packing a day may take hours, but other tasks must not wait. */
const PACKS_FOR_MS = EVERY_MS - 60_000;
/** Share of a Postgres core that background work may use, so that checks are still recorded at once. */
export const BACKGROUND_SHARE = 0.25;

export interface LeaderLoopOptions {
  readonly db: Database;
  readonly databaseClock: DatabaseClock;
  /** One api process at a time does the work. */
  readonly isLeader: () => boolean;
  readonly logger: Logger;
}

export interface HousekeepingOptions extends LeaderLoopOptions {
  readonly retentionDays: number;
  /** Length of an event partition. Defaults to a day. */
  readonly partitionMinutes?: number;
}

/** Runs the maintenance tasks every ten minutes on the leader. */
export function startHousekeeping(options: HousekeepingOptions): Loop {
  const { isLeader, logger } = options;
  return createLoop({
    name: 'Housekeeping',
    everyMs: EVERY_MS,
    logger,
    work: async (signal) => {
      if (isLeader()) await runMaintenanceTasks(options, signal);
    },
  });
}

/**
 * Runs every maintenance task once, even if others fail.
 * @param signal ends it after the current batch
 * @throws AggregateError of the failed tasks, which are logged
 */
export async function runMaintenanceTasks(
  options: HousekeepingOptions,
  signal: AbortSignal = new AbortController().signal,
): Promise<void> {
  const { databaseClock, logger } = options;
  const failures: unknown[] = [];
  for (const { name, deletesByAge, work } of tasks(options, signal)) {
    if (signal.aborted) break;
    try {
      // Read for each task, because the previous one may have taken long and a wrong clock would delete data.
      const { now, agrees } = await databaseClock.read();
      if (deletesByAge && !agrees) continue;
      logger.debug('Finished a maintenance task', { task: name, result: await work(now) });
    } catch (error) {
      failures.push(error);
      logger.error('A maintenance task failed', { task: name, error });
    }
  }
  if (failures.length > 0) throw new AggregateError(failures, `Failed maintenance tasks: ${failures.length}`);
}

interface Task {
  readonly name: string;
  readonly deletesByAge: boolean;
  /** @param now Postgres' clock, epoch milliseconds */
  readonly work: (now: number) => Promise<unknown>;
}

function tasks(
  { db, retentionDays, partitionMinutes, logger }: HousekeepingOptions,
  signal: AbortSignal,
): readonly Task[] {
  const always = (name: string, work: Task['work']): Task => ({ name, deletesByAge: false, work });
  const byAge = (name: string, work: Task['work']): Task => ({ name, deletesByAge: true, work });
  const logDropped = (what: string, partitions: string[]): void => {
    if (partitions.length > 0) logger.info(`Dropped expired ${what}`, { partitions });
  };
  return [
    always('create event partitions', (now) => ensureEventPartitions(db, { minutes: partitionMinutes, now })),
    always('align schedule spans', async () => {
      const monitors = await alignSpans(db, ({ id: monitorId, error }) =>
        logger.error('PostgreSQL refuses the schedule spans of a monitor', { monitorId, error }),
      );
      if (monitors > 0) logger.info('Repaired the schedule spans of monitors', { monitors });
    }),
    byAge('delete old triggers', () => deleteOldTriggers(db, signal)),
    byAge('delete old idempotency keys', () => deleteOldIdempotencyKeys(db, signal)),
    byAge('delete lost agents', () => deleteLostAgents(db, signal)),
    byAge('delete expired sessions', () => deleteExpiredSignIns(db, signal)),
    byAge('delete finished deliveries', () => deleteFinished(db, retentionDays, signal)),
    byAge('delete old audit entries', () => deleteOldAuditEntries(db, signal)),
    always('purge deleted accounts', () => purgeDeletedAccounts(db, signal)),
    always('purge deleted monitors', () => purgeDeletedMonitors(db, signal)),
    // Late, so that no other task waits for a partition in use.
    byAge('drop expired events', async (now) =>
      logDropped('events', await dropExpiredEventPartitions(db, retentionDays, now)),
    ),
    byAge('drop expired rollups', async (now) =>
      logDropped('rollups', await dropExpiredRollups(db, now, signal)),
    ),
    // Last, because packing takes most of a round.
    byAge('pack events', async (now) => {
      const partitions = await packEvents(db, {
        now,
        share: BACKGROUND_SHARE,
        signal: AbortSignal.any([signal, AbortSignal.timeout(PACKS_FOR_MS)]),
      });
      if (partitions.length > 0) logger.info('Packed events', { partitions });
    }),
  ];
}

/** Exports the packing backlog, with the same value in every api process. */
export function registerPackingMetrics(registry: Metrics, db: Database, logger: Logger): void {
  registerReadNumber(
    registry,
    {
      name: 'tocsin_event_partitions_unpacked',
      help: 'Closed partitions of events that are not packed yet: many after an upgrade, otherwise at most one.',
    },
    createReading({ what: 'which events are packed', read: () => countPackable(db), logger }),
    (count) => count,
  );
}
