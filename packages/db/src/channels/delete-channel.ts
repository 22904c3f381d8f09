import { and, eq } from 'drizzle-orm';
import type { Database } from '../database/open.ts';
import { channelNotFound } from './find-channel-row.ts';
import { channels } from './table.ts';

/** Deletes a channel with its deliveries and their log. @throws AppError not_found */
export async function deleteChannel(db: Database, accountId: string, id: string): Promise<void> {
  const { rowCount } = await db
    .delete(channels)
    .where(and(eq(channels.id, id), eq(channels.accountId, accountId)));
  if (rowCount === 0) throw channelNotFound();
}
