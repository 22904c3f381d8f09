import type { User } from '@tocsin/contracts/user';
import { AppError } from '@tocsin/contracts/errors';
import { and, eq } from 'drizzle-orm';
import { accounts } from '../accounts/table.ts';
import type { Queryable } from '../database/open.ts';
import { users } from './table.ts';
import { toUser, userColumns } from './user.ts';

/** An error that says the same for an unknown user and for another account's. */
export function userNotFound(): AppError {
  return new AppError('not_found', 'There is no user with this id.');
}

/** The user with the account. @throws AppError not_found */
export async function findUserWithAccount(
  db: Queryable,
  accountId: string,
  id: string,
): Promise<{ user: User; account: { id: string; name: string } }> {
  const [row] = await db
    .select({ user: userColumns, account: { id: accounts.id, name: accounts.name } })
    .from(users)
    .innerJoin(accounts, eq(accounts.id, users.accountId))
    .where(and(eq(users.id, id), eq(users.accountId, accountId)));
  if (!row) throw userNotFound();
  return { user: toUser(row.user), account: row.account };
}
