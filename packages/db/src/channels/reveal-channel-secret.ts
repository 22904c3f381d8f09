import type { DbContext } from '../database/context.ts';
import { findChannelRow } from './find-channel-row.ts';

/** The current signing secret of a channel. @throws AppError not_found */
export async function revealChannelSecret(
  { db, secrets }: DbContext,
  accountId: string,
  id: string,
): Promise<string> {
  const { sealedSecret } = await findChannelRow(db, accountId, id);
  return secrets.decrypt(sealedSecret);
}
