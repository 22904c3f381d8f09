import type { User } from '@tocsin/contracts/user';
import { asc, eq } from 'drizzle-orm';
import type { Queryable } from '../database/open.ts';
import { users } from './table.ts';
import { toUser, userColumns } from './user.ts';

/** The people of the account, the longest-standing first. */
export async function listUsers(db: Queryable, accountId: string): Promise<User[]> {
  const rows = await db
    .select(userColumns)
    .from(users)
    .where(eq(users.accountId, accountId))
    .orderBy(asc(users.createdAt), asc(users.id));
  return rows.map(toUser);
}
