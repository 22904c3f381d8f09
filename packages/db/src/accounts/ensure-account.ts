import { asc, sql } from 'drizzle-orm';
import { v7 as uuidv7 } from 'uuid';
import type { Database } from '../database/open.ts';
import { accounts } from './table.ts';

/** The first account, made if there is none; several processes that start at once agree on one. */
export async function ensureAccount(db: Database): Promise<{ id: string }> {
  return db.transaction(async (tx) => {
    await tx.execute(sql`lock table ${accounts} in share row exclusive mode`);
    const [existing] = await tx
      .select({ id: accounts.id })
      .from(accounts)
      .orderBy(asc(accounts.createdAt), asc(accounts.id))
      .limit(1);
    if (existing) return existing;
    const id = uuidv7();
    await tx.insert(accounts).values({ id, name: 'Default' });
    return { id };
  });
}
