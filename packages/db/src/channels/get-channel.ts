import type { Channel } from '@tocsin/contracts/channel';
import type { Queryable } from '../database/open.ts';
import { monitorIdsOfChannel } from './assigned-monitors.ts';
import { channelNotFound, isChannel } from './find-channel-row.ts';
import { channels } from './table.ts';
import { toChannel } from './to-channel.ts';

/** One channel of the account. @throws AppError not_found */
export async function getChannel(db: Queryable, accountId: string, id: string): Promise<Channel> {
  const [row] = await db
    .select({ channel: channels, monitorIds: monitorIdsOfChannel })
    .from(channels)
    .where(isChannel(accountId, id));
  if (!row) throw channelNotFound();
  return toChannel(row.channel, row.monitorIds);
}
