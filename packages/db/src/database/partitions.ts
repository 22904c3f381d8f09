import { setTimeout as wait } from 'node:timers/promises';
import { sql } from 'drizzle-orm';
import { z } from 'zod';
import { isLockTimeout } from './errors.ts';
import { ADVISORY_LOCKS } from './leader-lease.ts';
import type { Database, Queryable, Transaction } from './open.ts';
import { epochMs, query, queryColumn } from './sql.ts';

/** Tables partitioned by UTC days, parts of them, or UTC months. */
type PartitionedTable = 'events' | 'event_blocks' | 'check_rollups' | 'check_days';
const MONTHLY: ReadonlySet<PartitionedTable> = new Set(['check_rollups', 'check_days']);

/** A period from `start` to `end` (exclusive) in epoch milliseconds. */
export interface Period {
  readonly start: number;
  readonly end: number;
}

export interface Partition extends Period {
  readonly name: string;
}

const DAY_MS = 86_400_000;

/** Returns `2026_11` for the partition of a month, `2026_11_20` for a day, `2026_11_20_1405` for a shorter one. */
function nameOf(table: PartitionedTable, { start, end }: Period) {
  const [, date = '', hours = '', minutes = ''] = /^(.*)T(..):(..)/.exec(new Date(start).toISOString()) ?? [];
  const month = date.slice(0, 7);
  const suffix = MONTHLY.has(table) ? month : end - start === DAY_MS ? date : `${date}-${hours}${minutes}`;
  return `${table}_${suffix.replaceAll('-', '_')}`;
}

export async function listPartitions(db: Queryable, table: PartitionedTable): Promise<Set<string>> {
  const names = await queryColumn(db)`
    select c.relname from pg_inherits i join pg_class c on c.oid = i.inhrelid where i.inhparent = ${table}::regclass`;
  return new Set(names);
}

const partitionRow = z.object({ name: z.string(), start: z.number(), end: z.number() });

/** Reads the partitions with two instants as bounds, oldest first. */
export async function readPartitions(db: Queryable, table: PartitionedTable): Promise<Partition[]> {
  return query(db, partitionRow)`
    select c.relname as name, ${epochMs(sql`bounds[1]::timestamptz`)} as start, ${epochMs(sql`bounds[2]::timestamptz`)} as "end"
    from pg_inherits i join pg_class c on c.oid = i.inhrelid
    cross join lateral regexp_match(pg_get_expr(c.relpartbound, c.oid), 'FROM \\(''(.*)''\\) TO \\(''(.*)''\\)') as bounds
    where i.inhparent = ${table}::regclass and bounds is not null order by 2`;
}

/** Reads the partitions that this file has named. Others, such as an archive, belong to the operator. */
export async function readOwnPartitions(db: Queryable, table: PartitionedTable): Promise<Partition[]> {
  const own = new RegExp(String.raw`^${table}_\d{4}_\d\d(_\d\d(_\d{4})?)?$`);
  return (await readPartitions(db, table)).filter(({ name }) => own.test(name));
}

/** Creates missing partitions at any time. Unlike creating a partition, attaching a table does not wait for sessions that use the others. */
export async function ensurePartitions(
  db: Queryable,
  table: PartitionedTable,
  wanted: readonly Period[],
): Promise<void> {
  if (missingPeriods(wanted, await readPartitions(db, table)).length === 0) return;
  await db.transaction(async (tx) => {
    await tx.execute(sql`select pg_advisory_xact_lock(${ADVISORY_LOCKS.partitions})`);
    for (const period of missingPeriods(wanted, await readPartitions(tx, table))) {
      const name = nameOf(table, period);
      await tx.execute(sql.raw(`create table ${name} (like ${table} including all)`));
      await attachPartition(tx, table, { name, ...period });
    }
  });
}

/** Returns the parts of these periods without a partition. After a change of the setting, partitions of another length remain. */
function missingPeriods(wanted: readonly Period[], existing: readonly Period[]): readonly Period[] {
  return existing.reduce(
    (missing, { start, end }) =>
      missing
        .flatMap((period) => [
          { start: period.start, end: Math.min(period.end, start) },
          { start: Math.max(period.start, end), end: period.end },
        ])
        .filter((part) => part.start < part.end),
    wanted,
  );
}

/** Makes a partition of a table with the right columns and indexes. */
export async function attachPartition(
  db: Queryable,
  table: PartitionedTable,
  { name, start, end }: Partition,
): Promise<void> {
  const [from, to] = [start, end].map((time) => sql.raw(`'${new Date(time).toISOString()}'`));
  await db.execute(sql`
    alter table ${sql.identifier(table)} attach partition ${sql.identifier(name)} for values from (${from}) to (${to})`);
}

/** Drops the partitions that end by this time, one at a time. Others, such as an archive, stay. @returns their names */
export async function dropPartitionsBefore(
  db: Database,
  table: PartitionedTable,
  time: number,
): Promise<string[]> {
  const expired = (await readOwnPartitions(db, table)).filter(({ end }) => end <= time);
  for (const { name } of expired) {
    await db.transaction(async (tx) => {
      await closePartition(tx, name);
      await lockAlone(tx, table);
      await tx.execute(sql`drop table ${sql.identifier(name)}`);
    });
  }
  return expired.map(({ name }) => name);
}

/** Blocks writers of a partition, even autovacuum, until the transaction ends. Call it before `lockAlone`, which must not wait for them. */
export async function closePartition(tx: Transaction, name: string): Promise<void> {
  await tx.execute(sql`lock table only ${sql.identifier(name)} in share mode`);
}

/** Sessions that use the table queue behind one that waits to lock all of it. Therefore it waits only briefly, and rarely. */
const LOCK_ATTEMPTS = { count: 5, waitMs: 100, pauseMs: 250 };

/** Thrown if the table was in use at every attempt to lock it, for example by a long report or a backup. */
export class TableInUseError extends Error {}

/** Locks a partitioned table exclusively, without its partitions, until the transaction ends. @throws TableInUseError */
export async function lockAlone(tx: Transaction, table: PartitionedTable): Promise<void> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      await tx.transaction(async (nested) => {
        await nested.execute(sql.raw(`set local lock_timeout = ${LOCK_ATTEMPTS.waitMs}`));
        await nested.execute(sql`lock table only ${sql.identifier(table)} in access exclusive mode`);
      });
      return;
    } catch (error) {
      if (!isLockTimeout(error)) throw error;
      if (attempt === LOCK_ATTEMPTS.count)
        throw new TableInUseError(`Other sessions kept using "${table}". The next run tries again.`, {
          cause: error,
        });
      await wait(LOCK_ATTEMPTS.pauseMs);
    }
  }
}
