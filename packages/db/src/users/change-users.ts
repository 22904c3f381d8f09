import type { User } from '@tocsin/contracts/people/user';
import type { UserRole } from '@tocsin/contracts/vocabulary';
import { and, eq, isNull } from 'drizzle-orm';
import { deleteApiKeysOf } from '../api-keys/api-keys.ts';
import type { Database } from '../database/open.ts';
import { requireFound } from '../database/errors.ts';
import { clockNow, firstOf, toWire } from '../database/sql.ts';
import { deleteOpenInvitationsOf } from './invitations.ts';
import { invitations, users } from './table.ts';
import { addTombstone, lockUsers, requireAnotherOwner, userColumns } from './users.ts';

/**
 * Changes the role of a user. An owner who becomes a member loses the invitations made as an owner: their links could undo the change.
 * @throws AppError not_found; conflict for the last owner
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
    const before = requireFound(await tx.select(userColumns).from(users).where(isUser), 'user');
    if (before.role === role) return toWire(before);
    if (role !== 'owner') {
      await requireAnotherOwner(tx, accountId);
      await tx.delete(invitations).where(and(eq(invitations.createdBy, id), isNull(invitations.acceptedAt)));
    }
    const update = tx.update(users).set({ role, updatedAt: clockNow });
    return toWire(firstOf(await update.where(isUser).returning(userColumns)));
  });
}

/**
 * Deletes a user, with the invitations that the user made or could still use. A tombstone keeps the setup from creating the user again.
 * @param revokeApiKeys whether to delete the API keys that the user created
 * @throws AppError not_found; conflict for the last owner
 */
export async function deleteUser(
  db: Database,
  accountId: string,
  id: string,
  { revokeApiKeys = true } = {},
): Promise<void> {
  await db.transaction(async (tx) => {
    await lockUsers(tx, accountId);
    const isUser = and(eq(users.id, id), eq(users.accountId, accountId));
    const user = requireFound(await tx.select(userColumns).from(users).where(isUser), 'user');
    if (user.role === 'owner') await requireAnotherOwner(tx, accountId);
    await deleteOpenInvitationsOf(tx, accountId, user.email);
    await tx.delete(users).where(isUser);
    // After the user, since that waits for a key that the user is creating.
    if (revokeApiKeys) await deleteApiKeysOf(tx, id);
    await addTombstone(tx, accountId, user.email);
  });
}
