import type { User } from '@tocsin/contracts/user';
import type { UserRole } from '@tocsin/contracts/vocabulary';
import { and, eq, isNull } from 'drizzle-orm';
import { clockNow } from '../database/columns.ts';
import type { Database } from '../database/open.ts';
import { invitations } from '../invitations/table.ts';
import { userNotFound } from './find-user.ts';
import { lockUsers, requireAnotherOwner } from './lock-users.ts';
import { users } from './table.ts';
import { toUser, userColumns } from './user.ts';

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
