import { lt, sql } from 'drizzle-orm';
import type { Database } from '../database/open.ts';
import { invitations } from '../invitations/table.ts';
import { sessions, verifications } from './table.ts';

/** Deletes sessions and sign-ins under way that have expired, and invitations a month after they did. */
export async function deleteExpiredSessions(
  db: Database,
): Promise<{ sessions: number; verifications: number; invitations: number }> {
  const now = sql`now()`;
  const ended = await db.delete(sessions).where(lt(sessions.expiresAt, now));
  const abandoned = await db.delete(verifications).where(lt(verifications.expiresAt, now));
  // Until then an old link says that it has expired, rather than that there is no such thing.
  const old = await db.delete(invitations).where(lt(invitations.expiresAt, sql`now() - interval '30 days'`));
  return {
    sessions: ended.rowCount ?? 0,
    verifications: abandoned.rowCount ?? 0,
    invitations: old.rowCount ?? 0,
  };
}
