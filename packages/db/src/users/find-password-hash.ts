import { and, eq, sql } from 'drizzle-orm';
import type { Queryable } from '../database/open.ts';
import { userLogins, users } from './table.ts';

/** The hash of the password of the user with this address, in any case; null where there is no such user, or no password. */
export async function findPasswordHash(db: Queryable, email: string): Promise<string | null> {
  const [login] = await db
    .select({ passwordHash: userLogins.passwordHash })
    .from(users)
    .innerJoin(userLogins, and(eq(userLogins.userId, users.id), eq(userLogins.providerId, 'credential')))
    .where(eq(sql`lower(${users.email})`, email.toLowerCase()));
  return login?.passwordHash ?? null;
}
