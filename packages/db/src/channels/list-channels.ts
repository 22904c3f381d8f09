import type { Channel } from '@tocsin/contracts/channel';
import { and, desc, eq, isNull } from 'drizzle-orm';
import type { Database } from '../database/open.ts';
import { monitorIdsOfChannel } from './assigned-monitors.ts';
import { channels } from './table.ts';
import { toChannel } from './to-channel.ts';

/** Every channel of the account, by creation date, then id, descending. */
export async function listChannels(db: Database, accountId: string): Promise<Channel[]> {
  const rows = await db
    .select({ channel: channels, monitorIds: monitorIdsOfChannel })
    .from(channels)
    .where(and(eq(channels.accountId, accountId), isNull(channels.deletedAt)))
    .orderBy(desc(channels.createdAt), desc(channels.id));
  return rows.map((row) => toChannel(row.channel, row.monitorIds));
}
