import { sql } from 'drizzle-orm';
import type { Database } from '../database/open.ts';
import { monitorIfDue } from './table.ts';

/** How many status changes wait for their deliveries to be made, and the age of the oldest in seconds (0 without any). */
export async function outboxAge(db: Database): Promise<{ count: number; oldestSeconds: number }> {
  const { rows } = await db.execute<{ count: number; oldest: number | null }>(sql`
    select count(*)::int as count, extract(epoch from now() - min(created_at))::float8 as oldest
    from status_changes where ${monitorIfDue()} is not null`);
  return { count: rows[0]?.count ?? 0, oldestSeconds: Math.max(0, rows[0]?.oldest ?? 0) };
}
