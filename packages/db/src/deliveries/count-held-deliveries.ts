import { sql } from 'drizzle-orm';
import type { Database } from '../database/open.ts';

/** Deliveries that nobody sends until a redelivery releases them. Reads the whole log of deliveries: not for every second. */
export async function countHeldDeliveries(db: Database): Promise<number> {
  const { rows } = await db.execute<{ count: number }>(
    sql`select count(*)::int as count from deliveries where state = 'held'
      and channel_id not in (select id from channels where deleted_at is not null)`,
  );
  return rows[0]?.count ?? 0;
}
