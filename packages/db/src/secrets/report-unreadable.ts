import type { DbContext } from '../database/context.ts';
import { countUnreadable } from './count-sealed.ts';

/**
 * Tells of secrets that no key of ours opens, in a sentence for each missing key: what they belong to fails until it is back.
 * Never rejects: a database that is away is told of by others.
 */
export async function reportUnreadable(
  { db, secrets }: DbContext,
  report: (message: string) => void,
): Promise<void> {
  const unreadable = await countUnreadable(db, secrets.keyIds).catch(() => new Map<string, number>());
  for (const [keyId, count] of unreadable) {
    report(
      `SECRETS_KEY lacks the key ${keyId}, with which ${count} secrets are sealed: put it at the end of SECRETS_KEY`,
    );
  }
}
