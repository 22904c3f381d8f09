import { sql } from 'drizzle-orm';
import type { PgDatabase, PgQueryResultHKT } from 'drizzle-orm/pg-core';
import { ADVISORY_LOCKS } from '../database/leader-lease.ts';

const DAY_MS = 86_400_000;
const DAYS_AHEAD = 7;

/** The UTC day of an instant, as `2026-11-20`. */
function utcDay(time: number): string {
  return new Date(time).toISOString().slice(0, 10);
}

/**
 * Makes the partitions of yesterday to a week ahead where they are missing (design §5). Safe to run from anywhere, and at any
 * time: attaching a table, unlike creating a partition, waits for nobody who reads or writes events.
 */
export async function ensureEventPartitions(db: PgDatabase<PgQueryResultHKT>): Promise<void> {
  const existing = await listEventPartitions(db);
  const now = Date.now();
  const missing = Array.from({ length: DAYS_AHEAD + 2 }, (_, index) => now + (index - 1) * DAY_MS)
    .map((time) => ({ from: utcDay(time), to: utcDay(time + DAY_MS) }))
    .filter(({ from }) => !existing.has(partitionName(from)));
  if (missing.length === 0) return;
  await db.transaction(async (tx) => {
    await tx.execute(sql`select pg_advisory_xact_lock(${ADVISORY_LOCKS.partitions})`);
    const made = await listEventPartitions(tx);
    for (const { from, to } of missing) {
      const name = partitionName(from);
      if (made.has(name)) continue;
      await tx.execute(sql.raw(`create table ${name} (like events including all)`));
      await tx.execute(
        sql.raw(
          `alter table events attach partition ${name}
           for values from ('${from} 00:00:00+00') to ('${to} 00:00:00+00')`,
        ),
      );
    }
  });
}

function partitionName(day: string): string {
  return `events_${day.replaceAll('-', '_')}`;
}

async function listEventPartitions(db: PgDatabase<PgQueryResultHKT>): Promise<Set<string>> {
  const rows = await db
    .select({ name: sql<string>`c.relname` })
    .from(sql`pg_inherits i join pg_class c on c.oid = i.inhrelid`)
    .where(sql`i.inhparent = 'events'::regclass`);
  return new Set(rows.map((row) => row.name));
}
