import { sql } from 'drizzle-orm';
import type { DbContext } from '../database/context.ts';
import { generateChannelSecret } from './channel-secret.ts';
import { channelNotFound, isChannel } from './find-channel-row.ts';
import { clockNow } from '../database/columns.ts';
import { channels } from './table.ts';

/** How long the previous secret goes on signing, so that receivers can change over one after the other. */
const OVERLAP_HOURS = 24;

/**
 * Gives a channel a new secret; the one until now stays valid for 24 hours. A rotation during the overlap ends the validity
 * of the secret before that one.
 * @throws AppError not_found
 */
export async function rotateChannelSecret(
  { db, secrets }: DbContext,
  accountId: string,
  id: string,
): Promise<{ secret: string; previousSecretExpiresAt: Date }> {
  const secret = generateChannelSecret();
  const [rotated] = await db
    .update(channels)
    .set({
      sealedSecret: secrets.encrypt(secret),
      sealedPreviousSecret: sql`${channels.sealedSecret}`,
      previousSecretExpiresAt: sql`${clockNow} + make_interval(hours => ${OVERLAP_HOURS})`,
      updatedAt: clockNow,
    })
    .where(isChannel(accountId, id))
    .returning({ expiresAt: channels.previousSecretExpiresAt });
  if (!rotated?.expiresAt) throw channelNotFound();
  return { secret, previousSecretExpiresAt: rotated.expiresAt };
}
