import { eq, sql } from 'drizzle-orm';
import type { Queryable } from '../database/open.ts';
import { users } from './table.ts';

/** The user, of whatever account, with this address in any case; null where there is none. */
export async function findUserByEmail(
  db: Queryable,
  email: string,
): Promise<{ id: string; accountId: string } | null> {
  const [user] = await db
    .select({ id: users.id, accountId: users.accountId })
    .from(users)
    .where(eq(sql`lower(${users.email})`, email.toLowerCase()));
  return user ?? null;
}
