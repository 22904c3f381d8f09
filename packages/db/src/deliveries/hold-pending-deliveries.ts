import { sql } from 'drizzle-orm';
import type { Transaction } from '../database/open.ts';

/**
 * What a disabled channel still had to send stays visible, and is released by redelivery. An attempt under way still counts
 * if it succeeds. Test events are for disabled channels too. The transaction holds the lock of the channel.
 */
export async function holdPendingDeliveries(tx: Transaction, channelId: string): Promise<void> {
  await tx.execute(sql`
    update deliveries set state = 'held', next_attempt_at = null, leased_until = null, lease_token = null
    where channel_id = ${channelId} and state = 'pending' and not test`);
}
