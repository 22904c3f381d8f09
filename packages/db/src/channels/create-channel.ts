import { v7 as uuidv7 } from 'uuid';
import type { DbContext } from '../database/context.ts';
import { holdMonitors } from './assigned-monitors.ts';
import { generateChannelSecret } from './channel-secret.ts';
import { channelMonitors, channels } from './table.ts';

export interface NewChannel {
  readonly accountId: string;
  readonly name: string;
  /** HTTPS; the caller has validated it. */
  readonly url: string;
  readonly monitorIds: readonly string[];
  readonly allMonitors?: boolean;
}

/**
 * Creates a webhook channel and assigns it to monitors of its account.
 * @returns its id and its signing secret
 * @throws AppError validation_failed where the account has not all of the monitors
 */
export async function createChannel(
  context: DbContext,
  input: NewChannel,
): Promise<{ id: string; secret: string }> {
  const id = uuidv7();
  const secret = generateChannelSecret();
  const monitorIds = [...new Set(input.monitorIds)];
  await context.db.transaction(async (tx) => {
    await tx.insert(channels).values({
      id,
      accountId: input.accountId,
      name: input.name,
      url: input.url,
      sealedSecret: context.secrets.encrypt(secret),
      allMonitors: input.allMonitors ?? false,
    });
    if (monitorIds.length === 0) return;
    await holdMonitors(tx, input.accountId, monitorIds);
    await tx.insert(channelMonitors).values(monitorIds.map((monitorId) => ({ channelId: id, monitorId })));
  });
  return { id, secret };
}
