import { sql } from 'drizzle-orm';
import type { Database } from '../database/open.ts';
import { channelIf } from './table.ts';

/** Deliveries whose attempt is due, and how long the longest has been due in seconds (0 without any). */
export async function deliveryBacklog(db: Database): Promise<{ count: number; oldestSeconds: number }> {
  const { rows } = await db.execute<{ count: number; oldest: number | null }>(sql`
    select count(*)::int as count, extract(epoch from now() - min(next_attempt_at))::float8 as oldest
    from deliveries where ${channelIf('pending')} is not null and next_attempt_at <= now()
      and channel_id not in (select id from channels where deleted_at is not null)`);
  return { count: rows[0]?.count ?? 0, oldestSeconds: Math.max(0, rows[0]?.oldest ?? 0) };
}
