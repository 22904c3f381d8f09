import { and, eq, isNull } from 'drizzle-orm';
import { ensureAccount } from '../accounts/ensure-account.ts';
import type { Database } from '../database/open.ts';
import { lockUsers } from '../users/lock-users.ts';
import { users } from '../users/table.ts';
import { createInvitation } from './create-invitation.ts';
import { invitations } from './table.ts';

/**
 * The token of a new link that makes the first owner (design §2); the one before stops working. Null where the first account has a
 * user: then there is nothing to set up.
 */
export async function renewSetupInvitation(db: Database): Promise<string | null> {
  const { id: accountId } = await ensureAccount(db);
  return db.transaction(async (tx) => {
    await lockUsers(tx, accountId);
    await tx
      .delete(invitations)
      .where(
        and(
          eq(invitations.accountId, accountId),
          eq(invitations.isSetup, true),
          isNull(invitations.acceptedAt),
        ),
      );
    const [user] = await tx
      .select({ id: users.id })
      .from(users)
      .where(eq(users.accountId, accountId))
      .limit(1);
    if (user) return null;
    const { token } = await createInvitation(tx, {
      accountId,
      role: 'owner',
      email: null,
      createdBy: null,
    });
    return token;
  });
}
