import { and, eq } from 'drizzle-orm';
import type { Queryable } from '../database/open.ts';
import { userTombstones } from './table.ts';

/** Whether the account's user with this address was removed, and nobody invited that person again. */
export async function wasRemoved(db: Queryable, accountId: string, email: string): Promise<boolean> {
  const [tombstone] = await db.select().from(userTombstones).where(isOf(accountId, email));
  return tombstone !== undefined;
}

/** Remembers that a user of the account was removed. */
export async function addTombstone(db: Queryable, accountId: string, email: string): Promise<void> {
  await db.insert(userTombstones).values({ accountId, email: email.toLowerCase() }).onConflictDoNothing();
}

/** Who was invited again is welcome again. */
export async function liftTombstone(db: Queryable, accountId: string, email: string): Promise<void> {
  await db.delete(userTombstones).where(isOf(accountId, email));
}

function isOf(accountId: string, email: string): ReturnType<typeof and> {
  return and(eq(userTombstones.accountId, accountId), eq(userTombstones.email, email.toLowerCase()));
}
