import { sql } from 'drizzle-orm';
import { deleteInBatches } from '../database/delete-in-batches.ts';
import type { Database } from '../database/open.ts';

/** Deletes expired sessions and sign-ins under way, and invitations a month after they expired. */
export async function deleteExpiredSessions(
  db: Database,
  signal?: AbortSignal,
): Promise<{ sessions: number; verifications: number; invitations: number }> {
  const hasExpired = sql`expires_at < now()`;
  return {
    sessions: await deleteInBatches(db, 'sessions', hasExpired, signal),
    verifications: await deleteInBatches(db, 'verifications', hasExpired, signal),
    // Until then an old link says that it has expired, not that it does not exist.
    invitations: await deleteInBatches(
      db,
      'invitations',
      sql`expires_at < now() - interval '30 days'`,
      signal,
    ),
  };
}
