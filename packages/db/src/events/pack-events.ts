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
import { blocksOf } from './blocks-of.ts';
import { settledUntil } from './partitions.ts';
import { BLOCK_COLUMNS, createPending, dropAbandoned, pendingOf, takeTurn } from './pending-blocks.ts';
import { isSamePeriod, replacePartition } from './replace-partition.ts';
import { storedEvents } from './stored-events.ts';

/**
 * Keeps a slice below the statement timeout: checks every 5 s from several regions produce some hundred thousand events a day. If it
 * does not suffice, the rest of the partition is packed monitor by monitor.
 */
const MONITORS_AT_ONCE = 4;
const BEFORE_ALL = '00000000-0000-0000-0000-000000000000';

export interface PackOptions {
  /** Postgres' clock, epoch milliseconds: it stamped the events. */
  readonly now: number;
  /** How many monitors a slice packs. */
  readonly monitorsAtOnce?: number | undefined;
  /** Slices take this share of the time, and pauses the rest, unless several partitions are due. Default: 1, no pauses. */
  readonly share?: number | undefined;
  /** Ends the packing after the current slice; the next call continues. */
  readonly signal?: AbortSignal | undefined;
}

/**
 * The partitions of events that are closed and not packed yet, latest first: those ended as long ago as they are long, and are rolled up.
 * Until then they are read most, and by an api of the previous release, which sees no packed events.
 *
 * A partition that overlaps packed ones of another length stays as it is: after a change of the setting, an empty one may.
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

/** How many closed partitions are not packed yet. */
export async function countPackable(db: Queryable): Promise<number> {
  return (await listPackable(db, await readClock(db))).length;
}

/**
 * Packs the closed partitions of events (ADR 27), latest first: the oldest expire soonest. It writes slices of monitors, each in its own
 * transaction, into a table that nobody reads yet, and then puts that table in the place of the partition, in one transaction. An
 * interrupted partition is continued after its last monitor. Several processes may run it at once: they take turns by slices.
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
      // The next partition would disturb all sessions again, for nothing.
      if (error instanceof TableInUseError) break;
    }
    if (options.signal?.aborted === true) break;
  }
  if (failures.length > 0) {
    const message = `Partitions of events that could not be packed: ${failures.length}`;
    // The log shows the cause of an error, but not `errors`.
    throw Object.assign(new AggregateError(failures, message), { cause: failures[0] });
  }
  return packed;
}

/** @returns false if it was interrupted, or another process has packed the partition */
async function packPartition(
  db: Database,
  partition: Partition,
  { monitorsAtOnce = MONITORS_AT_ONCE, share = 1, signal }: PackOptions,
): Promise<boolean> {
  let atOnce = monitorsAtOnce;
  let after: string | null = BEFORE_ALL;
  while (after !== null) {
    if (signal?.aborted === true) return false;
    const from: string = after;
    try {
      const slice = await workForShare(share, signal, () =>
        db.transaction((tx) => packSlice(tx, partition, from, atOnce)),
      );
      if (slice === null) return false;
      after = slice.last;
    } catch (error) {
      if (!isTimeout(error) || atOnce === 1) throw error;
      atOnce = 1;
    }
  }
  return db.transaction((tx) => replacePartition(tx, partition));
}

/**
 * Packs the next monitors after an id, or after the last one that an interrupted run has packed.
 * @returns its last monitor, null if none is left; null if another process has packed the partition
 */
async function packSlice(tx: Transaction, partition: Partition, after: string, monitorsAtOnce: number) {
  if (!(await takeTurn(tx, partition))) return null;
  const pending = sql.identifier(pendingOf(partition));
  await createPending(tx, partition);
  const monitorIds = await queryColumn(tx)`
    select id from monitors
    where id > greatest(${after}::uuid, (select monitor_id from ${pending} order by monitor_id desc limit 1))
    order by id limit ${monitorsAtOnce}`;
  if (monitorIds.length > 0) {
    // Raw and packed: rows of a period that is packed already appear if Postgres' clock is set back.
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

/** In a transaction with one snapshot, first of all: no partition of events is packed until it ends. */
export async function holdPartitions(tx: Transaction): Promise<void> {
  await tx.execute(sql`lock table only events in access share mode`);
}
