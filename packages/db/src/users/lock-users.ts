import { AppError } from '@tocsin/contracts/errors';
import { and, eq, isNull, type SQL } from 'drizzle-orm';
import type { Actor } from '../audit-log/actor.ts';
import { requireOperator } from '../audit-log/record-audit.ts';
import { requireFound } from '../database/errors.ts';
import type { Transaction } from '../database/open.ts';
import { accounts, memberships } from './table.ts';

export function isMembership(accountId: string, userId: string): SQL | undefined {
  return and(eq(memberships.accountId, accountId), eq(memberships.userId, userId));
}

/** Locks the set of the account's users until the transaction ends. */
export async function lockUsers(tx: Transaction, accountId: string): Promise<void> {
  const isLive = and(eq(accounts.id, accountId), isNull(accounts.deletedAt));
  requireFound(
    await tx.select({ id: accounts.id }).from(accounts).where(isLive).for('no key update'),
    'account',
  );
}

/**
 * Locks the set of the account's users for a change by the actor, whose rights may have ended since the request began.
 * @throws AppError owner_required, operator_required
 */
export async function lockUsersFor(tx: Transaction, actor: Actor): Promise<void> {
  const { accountId, type, id, isOperator = false } = actor;
  await lockUsers(tx, accountId);
  if (isOperator) {
    await requireOperator(tx, actor);
  } else if (type === 'user' && id !== null) {
    const isOwner = and(isMembership(accountId, id), eq(memberships.role, 'owner'));
    if ((await tx.$count(memberships, isOwner)) === 0)
      throw new AppError('owner_required', 'You are no longer an owner of this account. Ask an owner.');
  }
}
