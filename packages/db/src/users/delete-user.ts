import { and, eq } from 'drizzle-orm';
import { deleteApiKeysOf } from '../api-keys/delete-api-key.ts';
import type { Database } from '../database/open.ts';
import { deleteOpenInvitationsOf } from '../invitations/delete-invitation.ts';
import { userNotFound } from './find-user.ts';
import { lockUsers, requireAnotherOwner } from './lock-users.ts';
import { users } from './table.ts';
import { addTombstone } from './tombstones.ts';

export interface DeleteUserOptions {
  /** Whether the API keys that the user created are deleted, too. Default: yes. */
  readonly revokeApiKeys?: boolean;
}

/**
 * Deletes a user with all sessions, logins and the invitations that user made or could still use; what belongs to the account
 * stays, and a tombstone keeps the set-up from making the user again (design §2).
 * @throws AppError not_found; conflict where it is the last owner
 */
export async function deleteUser(
  db: Database,
  accountId: string,
  id: string,
  { revokeApiKeys = true }: DeleteUserOptions = {},
): Promise<void> {
  await db.transaction(async (tx) => {
    await lockUsers(tx, accountId);
    const isUser = and(eq(users.id, id), eq(users.accountId, accountId));
    const [user] = await tx.select({ role: users.role, email: users.email }).from(users).where(isUser);
    if (!user) throw userNotFound();
    if (user.role === 'owner') await requireAnotherOwner(tx, accountId);
    await deleteOpenInvitationsOf(tx, accountId, user.email);
    await tx.delete(users).where(isUser);
    // Behind that: it has waited for any key that the user was creating.
    if (revokeApiKeys) await deleteApiKeysOf(tx, id);
    await addTombstone(tx, accountId, user.email);
  });
}
