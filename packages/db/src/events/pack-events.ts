import { sql } from 'drizzle-orm';
import { isTimeout } from '../database/errors.ts';
import type { Database, Queryable, Transaction } from '../database/open.ts';
import {
  type Partition,
  readOwnPartitions,
  readPartitions,
  TableInUseError,
} from '../database/partitions.ts';
import { arrayOf, queryColumn, readClock } from '../database/sql.ts';
import { workForShare } from '../database/work-share.ts';
import { settledUntil } from './partitions.ts';
import {
  BLOCK_COLUMNS,
  blocksOf,
  createPending,
  dropAbandoned,
  lockPacking,
  pendingOf,
} from './pending-blocks.ts';
import { isSamePeriod, replacePartition } from './replace-partition.ts';
import { storedEvents } from './stored-events.ts';

/** Keeps slices below the statement timeout. If a slice is still too slow, the rest of the partition is packed monitor by monitor. */
const MAX_BATCH_SIZE = 4;
const BEFORE_ALL = '00000000-0000-0000-0000-000000000000';

export interface PackOptions {
  /** PostgreSQL's clock, which stamped the events, in epoch milliseconds. */
  readonly now: number;
  readonly maxBatchSize?: number | undefined;
  /** Share of the time that slices may take, unless several partitions are due. The rest is pauses. Defaults to 1, without pauses. */
  readonly share?: number | undefined;
  /** Stops after the current slice. The next call continues. */
  readonly signal?: AbortSignal | undefined;
}

/**
 * Lists the partitions of events to pack, latest first. They must be rolled up, and must have ended at least their own length ago, because
 * they are read most until then. A partition that overlaps packed ones of another length is never packed.
 */
async function listPackable(db: Queryable, now: number): Promise<Partition[]> {
  const settled = await settledUntil(db);
  if (settled === null) return [];
  const own = await readOwnPartitions(db, 'events');
  const packed = await readPartitions(db, 'event_blocks');
  return own
    .filter(({ start, end }) => end <= settled && 2 * end - start <= now)
    .filter((one) =>
      packed.every((other) => other.end <= one.start || other.start >= one.end || isSamePeriod(other, one)),
    )
    .toReversed();
}

/** Counts closed partitions that are not packed yet. */
export async function countPackable(db: Queryable): Promise<number> {
  return (await listPackable(db, await readClock(db))).length;
}

/**
 * Packs the closed partitions of events (ADR 27), latest first, because the oldest expire soonest. Writes slices of monitors, each in a
 * transaction, to a table that no reader uses yet. That table then replaces the partition in one transaction. An interrupted partition
 * continues after its last monitor. Several processes may run this at once.
 * @returns the names of the packed partitions
 * @throws AggregateError of those that failed, after all others
 */
export async function packEvents(db: Database, options: PackOptions): Promise<string[]> {
  await dropAbandoned(db);
  const packed: string[] = [];
  const failures: unknown[] = [];
  const due = await listPackable(db, options.now);
  const share = due.length > 1 ? 1 : options.share;
  for (const partition of due) {
    try {
      if (await packPartition(db, partition, { ...options, share })) packed.push(partition.name);
    } catch (error) {
      failures.push(new Error(`Could not pack ${partition.name}`, { cause: error }));
      // The next partition would disturb all sessions again without success.
      if (error instanceof TableInUseError) break;
    }
    if (options.signal?.aborted === true) break;
  }
  if (failures.length > 0) {
    const message = `Partitions of events that could not be packed: ${failures.length}`;
    // The log shows the cause of an error, but not its `errors`.
    throw Object.assign(new AggregateError(failures, message), { cause: failures[0] });
  }
  return packed;
}

/** @returns false if it was interrupted, or another process has packed the partition */
async function packPartition(
  db: Database,
  partition: Partition,
  { maxBatchSize = MAX_BATCH_SIZE, share = 1, signal }: PackOptions,
): Promise<boolean> {
  let batchSize = maxBatchSize;
  let after: string | null = BEFORE_ALL;
  while (after !== null) {
    if (signal?.aborted === true) return false;
    const from: string = after;
    try {
      const slice = await workForShare(share, signal, () =>
        db.transaction((tx) => packSlice(tx, partition, from, batchSize)),
      );
      if (slice === null) return false;
      after = slice.last;
    } catch (error) {
      if (!isTimeout(error) || batchSize === 1) throw error;
      batchSize = 1;
    }
  }
  return db.transaction((tx) => replacePartition(tx, partition));
}

/** Packs the next monitors after an id. @returns the last one, or null if none is left or another process has packed the partition */
async function packSlice(tx: Transaction, partition: Partition, after: string, batchSize: number) {
  if (!(await lockPacking(tx, partition))) return null;
  const pending = sql.identifier(pendingOf(partition));
  await createPending(tx, partition);
  const monitorIds = await queryColumn(tx)`
    select id from monitors
    where id > greatest(${after}::uuid, (select monitor_id from ${pending} order by monitor_id desc limit 1))
    order by id limit ${batchSize}`;
  if (monitorIds.length > 0) {
    // Reads raw and packed events, because after PostgreSQL's clock was set back, rows appear in a period that is already packed.
    const stored = storedEvents({
      of: sql`monitor_id = any(${arrayOf('uuid', monitorIds)})`,
      after: partition.start - 1,
      upTo: partition.end - 1,
    });
    const columns = BLOCK_COLUMNS.map(({ name }) => sql`${sql.identifier(name)}`);
    await tx.execute(sql`insert into ${pending} (${sql.join(columns, sql`, `)}) ${blocksOf(stored)}`);
  }
  return { last: monitorIds.at(-1) ?? null };
}

/** Prevents the packing of all partitions until the transaction ends. Call it first in a transaction with one snapshot. */
export async function holdPartitions(tx: Transaction): Promise<void> {
  await tx.execute(sql`lock table only events in access share mode`);
}
