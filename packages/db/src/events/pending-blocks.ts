import { getTableColumns, is, sql, type SQL, type Subquery } from 'drizzle-orm';
import { PgArray } from 'drizzle-orm/pg-core';
import { ADVISORY_LOCKS } from '../database/leader-lease.ts';
import type { Database, Transaction } from '../database/open.ts';
import { listPartitions, type Partition } from '../database/partitions.ts';
import { queryColumn } from '../database/sql.ts';
import { eventBlocks } from './table.ts';

export const BLOCK_COLUMNS = Object.values(getTableColumns(eventBlocks));
const ARRAY_COLUMNS = BLOCK_COLUMNS.filter((column) => is(column, PgArray)).map(({ name }) => name);

const PENDING = '_pending';

/** Returns `event_blocks_2026_11_20` for the partition `events_2026_11_20`. */
export function packedName({ name }: Partition): string {
  return name.replace(/^events/, 'event_blocks');
}

export function pendingOf(partition: Partition): string {
  return packedName(partition) + PENDING;
}

/** Keeps other processes from packing until the transaction ends. @returns false if another one has packed the partition */
export async function lockPacking(tx: Transaction, { name }: Partition): Promise<boolean> {
  await tx.execute(sql`select pg_advisory_xact_lock(${ADVISORY_LOCKS.packing})`);
  return (await listPartitions(tx, 'events')).has(name);
}

const NAMESPACE = sql`(select relnamespace from pg_class where oid = 'event_blocks'::regclass)`;

/** Reports whether the table of a partition's blocks exists. Call it after `lockPacking`, because another process may attach or drop it. */
export async function hasPending(tx: Transaction, partition: Partition): Promise<boolean> {
  const { rowCount } = await tx.execute(sql`
    select from pg_class where relname = ${pendingOf(partition)} and relnamespace = ${NAMESPACE}`);
  return rowCount !== 0;
}

/** Creates the table of a partition's blocks, unless an interrupted run has created it. Its constraint avoids a scan when it is attached. */
export async function createPending(tx: Transaction, partition: Partition): Promise<void> {
  const name = sql.identifier(pendingOf(partition));
  if (await hasPending(tx, partition)) return;
  const [start, end] = [partition.start, partition.end].map((time) =>
    sql.raw(`'${new Date(time).toISOString()}'`),
  );
  await tx.execute(sql`create table ${name} (like event_blocks including all,
    constraint bounds check (ends_at >= ${start} and ends_at < ${end})) with (toast_tuple_target = 128)`);
  // Statistics of array elements are useless and slow to compute.
  const changes = ARRAY_COLUMNS.map((column) => sql`alter column ${sql.identifier(column)} set statistics 0`);
  await tx.execute(sql`alter table ${name} ${sql.join(changes, sql`, `)}`);
}

const columnsOf = (table: SQL): SQL =>
  sql`array(select attname::text from pg_attribute where attrelid = ${table} and attnum > 0 and not attisdropped order by 1)`;

/** Drops pending tables of expired partitions, and those whose columns differ from this version's. */
export async function dropAbandoned(db: Database): Promise<void> {
  const abandoned = await queryColumn(db)`
    select relname from pg_class c
    where relkind = 'r' and relnamespace = ${NAMESPACE}
      and relname ~ ${`^event_blocks_[0-9_]+${PENDING}$`}
      and (to_regclass(replace(replace(relname, 'event_blocks', 'events'), ${PENDING}, '')) is null
        or ${columnsOf(sql`c.oid`)} <> ${columnsOf(sql`'event_blocks'::regclass`)})`;
  for (const name of abandoned) await db.execute(sql`drop table if exists ${sql.identifier(name)}`);
}

/** Two full blocks of typical checks fill a page of 8 kB. Larger blocks waste more of it, and smaller ones compress less. */
const EVENTS_PER_BLOCK = 256;

const array = (value: SQL): SQL => sql`array_agg(${value} order by "timestamp")`;
/** Makes null if no row has a value. */
const sparse = (value: SQL): SQL => sql`case when count(${value}) > 0 then ${array(value)} end`;
const ms = (duration: SQL): SQL => sql`(extract(epoch from ${duration}) * 1000)::bigint`;

/** Selects blocks of packed events. `packed_events` is the inverse. */
export function blocksOf(stored: Subquery): SQL {
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
