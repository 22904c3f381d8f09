import { getTableColumns, is, sql, type SQL, type Subquery } from 'drizzle-orm';
import { PgArray } from 'drizzle-orm/pg-core';
import { z } from 'zod';
import { ADVISORY_LOCKS } from '../database/leader-lease.ts';
import type { Database, Queryable, Transaction } from '../database/open.ts';
import {
  attachPartition,
  limitLockWaits,
  listPartitions,
  type Partition,
  readOwnPartitions,
} from '../database/partitions.ts';
import { arrayOf, queryColumn, queryOne, readClock, timestamptz } from '../database/sql.ts';
import { settledUntil } from './partitions.ts';
import { storedEvents } from './stored-events.ts';
import { eventBlocks } from './table.ts';

/** Two full blocks of typical checks fill a page of 8 kB. Larger ones waste more of it, smaller ones compress less. */
const EVENTS_PER_BLOCK = 256;
/** Keeps a slice below the statement timeout: checks every 5 s from several regions produce some hundred thousand events a day. */
const MONITORS_AT_ONCE = 4;
const BLOCK_COLUMNS = Object.values(getTableColumns(eventBlocks));
const ARRAY_COLUMNS = BLOCK_COLUMNS.filter((column) => is(column, PgArray)).map(({ name }) => name);
const BEFORE_ALL = '00000000-0000-0000-0000-000000000000';

export interface PackOptions {
  /** Postgres' clock, epoch milliseconds: it stamped the events. */
  readonly now: number;
  /** How many monitors a slice packs. */
  readonly monitorsAtOnce?: number | undefined;
  /** Ends the packing after the current slice; the next call continues. */
  readonly signal?: AbortSignal | undefined;
}

/**
 * The partitions of events that are closed and not packed yet, latest first: those ended as long ago as they are long, and are rolled up.
 * Until then they are read most, and by an api of the previous release, which sees no packed events.
 */
async function listPackable(db: Queryable, now: number): Promise<Partition[]> {
  const settled = await settledUntil(db);
  if (settled === null) return [];
  const own = await readOwnPartitions(db, 'events');
  return own.filter(({ start, end }) => end <= settled && 2 * end - start <= now).toReversed();
}

/** How many closed partitions are not packed yet. */
export async function countPackable(db: Queryable): Promise<number> {
  return (await listPackable(db, await readClock(db))).length;
}

/**
 * Packs the closed partitions of events (ADR 25), latest first: the oldest expire soonest. It writes slices of monitors, each in its own
 * transaction, into a table that nobody reads yet, and then puts that table in the place of the partition, in one transaction. An
 * interrupted partition is continued after its last monitor. Several processes may run it at once: they take turns by slices.
 * @returns the names of the packed partitions
 */
export async function packEvents(db: Database, options: PackOptions): Promise<string[]> {
  await dropAbandoned(db);
  const packed: string[] = [];
  for (const partition of await listPackable(db, options.now)) {
    if (await packPartition(db, partition, options)) packed.push(partition.name);
    if (options.signal?.aborted === true) break;
  }
  return packed;
}

/** @returns false if it was interrupted, or another process has packed the partition */
async function packPartition(
  db: Database,
  partition: Partition,
  { monitorsAtOnce = MONITORS_AT_ONCE, signal }: PackOptions,
): Promise<boolean> {
  const pending = pendingOf(partition);
  let after: string | null = BEFORE_ALL;
  while (after !== null) {
    if (signal?.aborted === true) return false;
    const from: string = after;
    const slice = await db.transaction((tx) => packSlice(tx, partition, from, monitorsAtOnce));
    if (slice === null) return false;
    after = slice.last;
  }
  await db.execute(sql`analyze ${sql.identifier(pending)}`);
  return db.transaction((tx) => swap(tx, partition));
}

const PENDING = '_pending';

/** `event_blocks_2026_11_20` for the partition `events_2026_11_20`. */
function packedName({ name }: Partition): string {
  return name.replace(/^events/, 'event_blocks');
}

function pendingOf(partition: Partition): string {
  return packedName(partition) + PENDING;
}

/** Whether another process has not packed the partition meanwhile. From here to the end of the transaction, none packs. */
async function takeTurn(tx: Transaction, { name }: Partition): Promise<boolean> {
  await tx.execute(sql`select pg_advisory_xact_lock(${ADVISORY_LOCKS.packing})`);
  return (await listPartitions(tx, 'events')).has(name);
}

const NAMESPACE = sql`(select relnamespace from pg_class where oid = 'event_blocks'::regclass)`;

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

/** Makes the table of a partition's blocks, until it is complete, unless an interrupted run has made it. Its constraint spares the scan when it is attached. */
async function createPending(tx: Transaction, partition: Partition): Promise<void> {
  const name = sql.identifier(pendingOf(partition));
  const existing = await tx.execute(sql`
    select from pg_class where relname = ${pendingOf(partition)} and relnamespace = ${NAMESPACE}`);
  if (existing.rowCount !== 0) return;
  const [start, end] = [partition.start, partition.end].map((time) =>
    sql.raw(`'${new Date(time).toISOString()}'`),
  );
  await tx.execute(sql`create table ${name} (like event_blocks including all,
    constraint bounds check (ends_at >= ${start} and ends_at < ${end})) with (toast_tuple_target = 128)`);
  // Statistics of array elements are of no use, and take long to compute.
  const changes = ARRAY_COLUMNS.map((column) => sql`alter column ${sql.identifier(column)} set statistics 0`);
  await tx.execute(sql`alter table ${name} ${sql.join(changes, sql`, `)}`);
}

const changedRow = z.object({ changed: z.boolean() });

/**
 * Puts the packed events in the place of a partition.
 *
 * Every reader finds each event exactly once. It locks `events` before it takes its snapshot, and keeps that lock: a statement does so by
 * itself, a transaction with one snapshot for several statements by `holdPartitions`. Dropping a partition waits for that lock.
 *
 * Nothing of a deleted monitor stays. If the monitor was deleted before this transaction looks, its blocks are deleted here. If not, its
 * purge begins later, waits for the row that is locked here (`waitForRollUp`), and then finds these blocks in the partition.
 *
 * @returns false if another process has packed the partition, or it must be packed again because events were added meanwhile
 */
async function swap(tx: Transaction, partition: Partition): Promise<boolean> {
  await limitLockWaits(tx);
  if (!(await takeTurn(tx, partition))) return false;
  const name = packedName(partition);
  const [raw, packed, pending] = [partition.name, name, pendingOf(partition)].map((one) =>
    sql.identifier(one),
  );
  await tx.execute(sql`select from check_rollup_state for update`);
  // One index probe for each monitor.
  await tx.execute(sql`
    with recursive packed (id) as (
      (select monitor_id from ${pending} order by 1 limit 1)
      union all
      select (select monitor_id from ${pending} where monitor_id > p.id order by 1 limit 1) from packed p where p.id is not null)
    delete from ${pending} where monitor_id = any(array(
      select id from packed p where not exists (select from monitors m where m.id = p.id)))`);
  await tx.execute(sql`lock table only events in access exclusive mode`);
  // Timestamps of a monitor only increase, so an event that a slice has missed is its monitor's latest.
  const { changed } = await queryOne(tx, changedRow)`
    select exists (
      select from monitors m cross join lateral (select max(timestamp) as latest from ${raw} where monitor_id = m.id) r
      where m.last_timestamp >= ${timestamptz(partition.start)} and m.last_timestamp < ${timestamptz(partition.end)} and r.latest > coalesce(
        (select max(ends_at) from ${pending} where monitor_id = m.id), '-infinity')) as changed`;
  if (changed) {
    await tx.execute(sql`drop table ${pending}`);
    return false;
  }
  await tx.execute(sql`drop table if exists ${packed}`);
  await tx.execute(sql`alter table ${pending} rename to ${packed}`);
  await attachPartition(tx, 'event_blocks', { ...partition, name });
  await tx.execute(sql`alter table ${packed} drop constraint bounds`);
  await tx.execute(sql`drop table ${raw}`);
  return true;
}

/** Drops tables of blocks that an interrupted run has left for a partition that has expired. */
async function dropAbandoned(db: Database): Promise<void> {
  const abandoned = await queryColumn(db)`
    select relname from pg_class c
    where relkind = 'r' and relnamespace = ${NAMESPACE}
      and relname ~ ${`^event_blocks_[0-9_]+${PENDING}$`}
      and to_regclass(replace(replace(relname, 'event_blocks', 'events'), ${PENDING}, '')) is null`;
  for (const name of abandoned) await db.execute(sql`drop table if exists ${sql.identifier(name)}`);
}

/** In a transaction with one snapshot, first of all: no partition of events is packed until it ends. */
export async function holdPartitions(tx: Transaction): Promise<void> {
  await tx.execute(sql`lock table only events in access share mode`);
}

/** The statement that packs events into blocks; `packed_events` is its inverse. */
function blocksOf(stored: Subquery): SQL {
  const array = (value: SQL): SQL => sql`array_agg(${value} order by "timestamp")`;
  /** Null without any value. */
  const sparse = (value: SQL): SQL => sql`case when count(${value}) > 0 then ${array(value)} end`;
  const ms = (duration: SQL): SQL => sql`(extract(epoch from ${duration}) * 1000)::bigint`;
  const packed: Readonly<Record<string, SQL>> = {
    monitor_id: sql`monitor_id`,
    starts_at: sql`starts_at`,
    ends_at: sql`max("timestamp")`,
    slot_steps: sparse(ms(sql`slot - coalesce(previous_slot, starts_at)`)),
    delays: array(ms(sql`"timestamp" - coalesce(slot, starts_at)`)),
    id: sparse(sql`nullif(id, event_id(monitor_id, "timestamp"))`),
  };
  const columns = BLOCK_COLUMNS.map(({ name }) => packed[name] ?? sparse(sql`${sql.identifier(name)}`));
  return sql`
    select ${sql.join(columns, sql`, `)}
    from (
      select *, first_value("timestamp") over in_block as starts_at,
        lag(slot) over (partition by monitor_id, block, slot is null order by "timestamp") as previous_slot
      from (
        select *, (row_number() over (partition by monitor_id order by "timestamp") - 1) / ${EVENTS_PER_BLOCK} as block
        from ${stored}) numbered
      window in_block as (partition by monitor_id, block order by "timestamp")) e
    group by monitor_id, block, starts_at`;
}
