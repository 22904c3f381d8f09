import { sql } from 'drizzle-orm';
import type { Database } from '../database/open.ts';

/**
 * Drops the day partitions whose every event is older than the retention (design §5).
 * @returns the names of the dropped partitions
 */
export async function dropExpiredEventPartitions(db: Database, retentionDays: number): Promise<string[]> {
  const oldest = new Date(Date.now() - retentionDays * 86_400_000).toISOString().slice(0, 10);
  const { rows } = await db.execute<{ name: string }>(sql`
    select c.relname as name from pg_inherits i join pg_class c on c.oid = i.inhrelid
    where i.inhparent = 'events'::regclass and c.relname ~ '^events_\\d{4}_\\d{2}_\\d{2}$'`);
  const expired = rows
    .map((row) => row.name)
    .filter((name) => name < `events_${oldest.replaceAll('-', '_')}`);
  for (const name of expired) {
    await db.transaction(async (tx) => {
      // Dropping locks the whole table: rather later than in the way of everybody who queues behind it.
      await tx.execute(sql`set local lock_timeout = '2s'`);
      await tx.execute(sql`drop table ${sql.identifier(name)}`);
    });
  }
  return expired;
}
