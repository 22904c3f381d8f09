import { sql } from 'drizzle-orm';
import type { Database } from '../database/open.ts';
import { holdPendingDeliveries } from '../deliveries/hold-pending-deliveries.ts';

/**
 * Disables the channels whose first failure since the last success is 72 hours old, and holds what they still had to send
 * (design §4 "Delivery"). By the clock, not by an attempt: the last attempt of a lone delivery comes earlier.
 * @returns the ids of the channels it disabled
 */
export async function disableExhaustedChannels(db: Database): Promise<string[]> {
  return db.transaction(async (tx) => {
    const { rows } = await tx.execute<{ id: string }>(sql`
      update channels set enabled = false, disabled_reason = 'Every attempt of the last 72 hours failed.'
      where enabled and failing_since <= now() - interval '72 hours'
      returning id`);
    for (const { id } of rows) await holdPendingDeliveries(tx, id);
    return rows.map((row) => row.id);
  });
}
