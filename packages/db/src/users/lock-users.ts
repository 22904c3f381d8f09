import { AppError } from '@tocsin/contracts/errors';
import { and, count, eq } from 'drizzle-orm';
import { accounts } from '../accounts/table.ts';
import type { Transaction } from '../database/open.ts';
import { users } from './table.ts';

/** Holds off every other change of who belongs to the account, until the transaction ends. */
export async function lockUsers(tx: Transaction, accountId: string): Promise<void> {
  await tx.select({ id: accounts.id }).from(accounts).where(eq(accounts.id, accountId)).for('no key update');
}

/** Behind `lockUsers`: an account without an owner could never get one again. @throws AppError conflict */
export async function requireAnotherOwner(tx: Transaction, accountId: string): Promise<void> {
  const [owners] = await tx
    .select({ count: count() })
    .from(users)
    .where(and(eq(users.accountId, accountId), eq(users.role, 'owner')));
  if ((owners?.count ?? 0) < 2) {
    throw new AppError(
      'conflict',
      'This is the last owner of the account: make somebody else an owner first.',
    );
  }
}
