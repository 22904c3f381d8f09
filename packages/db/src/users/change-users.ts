import type { User } from '@tocsin/contracts/people/user';
import type { UserRole } from '@tocsin/contracts/vocabulary';
import { and, eq, isNull } from 'drizzle-orm';
import { deleteApiKeysOf } from '../api-keys/api-keys.ts';
import type { Database } from '../database/open.ts';
import { clockNow } from '../database/sql.ts';
import { deleteOpenInvitationsOf } from './invitations.ts';
import { invitations, users } from './table.ts';
import { addTombstone, lockUsers, requireAnotherOwner, toUser, userColumns, userNotFound } from './users.ts';

/**
 * Who is no owner any more loses the invitations made as one: their links could make that person an owner again.
 * @throws AppError not_found; conflict where it is the last owner
 */
export async function setUserRole(
  db: Database,
  accountId: string,
  id: string,
  role: UserRole,
): Promise<User> {
  return db.transaction(async (tx) => {
    await lockUsers(tx, accountId);
    const isUser = and(eq(users.id, id), eq(users.accountId, accountId));
    const [before] = await tx.select(userColumns).from(users).where(isUser);
    if (!before) throw userNotFound();
    if (before.role === role) return toUser(before);
    if (role !== 'owner') {
      await requireAnotherOwner(tx, accountId);
      await tx.delete(invitations).where(and(eq(invitations.createdBy, id), isNull(invitations.acceptedAt)));
    }
    const [after] = await tx
      .update(users)
      .set({ role, updatedAt: clockNow })
      .where(isUser)
      .returning(userColumns);
    if (!after) throw userNotFound();
    return toUser(after);
  });
}

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
