import { sql } from 'drizzle-orm';
import { ADVISORY_LOCKS } from './leader-lease.ts';
import type { Database, Queryable } from './open.ts';

/** A partition by time: UTC days, `to` exclusive. */
export interface Partition {
  readonly name: string;
  readonly from: string;
  readonly to: string;
}

/** The UTC day of an instant, as `2026-11-20`. */
export function utcDay(time: number): string {
  return new Date(time).toISOString().slice(0, 10);
}

/** The names of a table's partitions. */
export async function listPartitions(db: Queryable, table: string): Promise<Set<string>> {
  const rows = await db
    .select({ name: sql<string>`c.relname` })
    .from(sql`pg_inherits i join pg_class c on c.oid = i.inhrelid`)
    .where(sql`i.inhparent = ${table}::regclass`);
  return new Set(rows.map((row) => row.name));
}

/**
 * Makes the missing partitions. Any process may run it at any time: attaching a table, unlike creating a partition, does not wait for
 * sessions that read or write the others.
 */
export async function ensurePartitions(
  db: Queryable,
  table: string,
  wanted: readonly Partition[],
): Promise<void> {
  const existing = await listPartitions(db, table);
  const missing = wanted.filter(({ name }) => !existing.has(name));
  if (missing.length === 0) return;
  await db.transaction(async (tx) => {
    await tx.execute(sql`select pg_advisory_xact_lock(${ADVISORY_LOCKS.partitions})`);
    const made = await listPartitions(tx, table);
    for (const { name, from, to } of missing) {
      if (made.has(name)) continue;
      await tx.execute(sql.raw(`create table ${name} (like ${table} including all)`));
      await tx.execute(
        sql.raw(
          `alter table ${table} attach partition ${name}
           for values from ('${from} 00:00:00+00') to ('${to} 00:00:00+00')`,
        ),
      );
    }
  });
}

/** Drops partitions with their rows, one by one. */
export async function dropPartitions(db: Database, names: readonly string[]): Promise<void> {
  for (const name of names) {
    await db.transaction(async (tx) => {
      // Dropping locks the whole table, and other sessions queue behind it: it fails soon, and the next round tries again.
      await tx.execute(sql`set local lock_timeout = '500ms'`);
      await tx.execute(sql`drop table ${sql.identifier(name)}`);
    });
  }
}
