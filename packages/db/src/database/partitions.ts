import { sql } from 'drizzle-orm';
import { ADVISORY_LOCKS } from './leader-lease.ts';
import type { Database, Queryable } from './open.ts';
import { queryColumn } from './sql.ts';

/** The tables that are partitioned by UTC days or months; their partitions' names end with that part of the date. */
const DATE_PARTS = { events: '2026-11-20'.length, check_rollups: '2026-11'.length };
type PartitionedTable = keyof typeof DATE_PARTS;

/** The UTC day of an instant, as `2026-11-20`. */
function utcDay(time: number) {
  return new Date(time).toISOString().slice(0, 10);
}

function partitionName(table: PartitionedTable, time: number) {
  return `${table}_${utcDay(time).slice(0, DATE_PARTS[table]).replaceAll('-', '_')}`;
}

/** The names of a table's partitions. */
export async function listPartitions(db: Queryable, table: PartitionedTable): Promise<Set<string>> {
  const names = await queryColumn(db)`
    select c.relname from pg_inherits i join pg_class c on c.oid = i.inhrelid where i.inhparent = ${table}::regclass`;
  return new Set(names);
}

/**
 * Makes the missing partitions for these days or months, from a start to an exclusive end in epoch milliseconds. Any process may run it
 * at any time: attaching a table, unlike creating a partition, does not wait for sessions that read or write the others.
 */
export async function ensurePartitions(
  db: Queryable,
  table: PartitionedTable,
  wanted: readonly { readonly start: number; readonly end: number }[],
): Promise<void> {
  const existing = await listPartitions(db, table);
  if (wanted.every(({ start }) => existing.has(partitionName(table, start)))) return;
  await db.transaction(async (tx) => {
    await tx.execute(sql`select pg_advisory_xact_lock(${ADVISORY_LOCKS.partitions})`);
    const made = await listPartitions(tx, table);
    for (const { start, end } of wanted) {
      const name = partitionName(table, start);
      if (made.has(name)) continue;
      await tx.execute(sql.raw(`create table ${name} (like ${table} including all)`));
      const [from, to] = [start, end].map((time) => `('${utcDay(time)} 00:00:00+00')`);
      await tx.execute(
        sql.raw(`alter table ${table} attach partition ${name} for values from ${from} to ${to}`),
      );
    }
  });
}

/** Drops the partitions of earlier days or months with their rows, one by one. Others, such as an archive, stay. @returns their names */
export async function dropPartitionsBefore(
  db: Database,
  table: PartitionedTable,
  time: number,
): Promise<string[]> {
  const first = partitionName(table, time);
  const isDated = new RegExp(`^${first.replaceAll(/\d/g, String.raw`\d`)}$`);
  const partitions = [...(await listPartitions(db, table))];
  const expired = partitions.filter((name) => isDated.test(name) && name < first).toSorted();
  for (const name of expired) {
    await db.transaction(async (tx) => {
      // Dropping locks the whole table, and other sessions queue behind it: it fails soon, and the next round tries again.
      await tx.execute(sql`set local lock_timeout = '500ms'`);
      await tx.execute(sql`drop table ${sql.identifier(name)}`);
    });
  }
  return expired;
}
