import { eq } from 'drizzle-orm';
import { clockNow } from '../database/columns.ts';
import type { Database } from '../database/open.ts';
import { lockChannelRow } from './find-channel-row.ts';
import { channelMonitors, channels } from './table.ts';

/**
 * Deletes a channel: at once it is gone for everybody and sends nothing more. Its deliveries and their log may be many:
 * housekeeping deletes them, then the row (`deleteFinished`).
 * @throws AppError not_found
 */
export async function deleteChannel(db: Database, accountId: string, id: string): Promise<void> {
  await db.transaction(async (tx) => {
    await lockChannelRow(tx, accountId, id);
    await tx
      .update(channels)
      .set({ deletedAt: clockNow, enabled: false, allMonitors: false })
      .where(eq(channels.id, id));
    await tx.delete(channelMonitors).where(eq(channelMonitors.channelId, id));
  });
}
