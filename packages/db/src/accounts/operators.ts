import type { Operator } from '@tocsin/contracts/accounts/account';
import { AppError } from '@tocsin/contracts/errors';
import { and, asc, eq, isNull, sql } from 'drizzle-orm';
import type { Actor } from '../audit-log/actor.ts';
import { type AuditRecord, recordAudit } from '../audit-log/record-audit.ts';
import { requireFound } from '../database/errors.ts';
import type { Queryable, Transaction } from '../database/open.ts';
import { invitations, memberships, users } from '../users/table.ts';
import { deleteUsersWithoutAccount, isUnused, lockUserByEmail, revokeInvitations } from '../users/users.ts';

const { id, name, email } = users;
const isAnOperator = eq(users.isOperator, true);

/** Lists the operators of the installation, oldest user first. */
export function listOperators(db: Queryable): Promise<Operator[]> {
  return db
    .select({ id, name, email })
    .from(users)
    .where(isAnOperator)
    .orderBy(asc(users.createdAt), asc(id));
}

export async function isOperator(db: Queryable, userId: string): Promise<boolean> {
  return (await db.$count(users, and(eq(id, userId), isAnOperator))) > 0;
}

/** Makes a user an operator if there is none. @returns whether it did */
export async function makeFirstOperator(db: Queryable, userId: string): Promise<boolean> {
  const hasNone = sql`not exists (select from users where is_operator)`;
  const { rowCount } = await db
    .update(users)
    .set({ isOperator: true })
    .where(and(eq(id, userId), hasNone));
  return rowCount === 1;
}

/** Makes the user with this address an operator. @throws AppError not_found, or conflict if the address is not verified */
export async function addOperator(db: Queryable, actor: Actor, address: string): Promise<Operator> {
  return db.transaction(async (tx) => {
    const user = await lockUserByEmail(tx, address);
    if (user === null) throw new AppError('not_found', 'There is no user with this email address.');
    if (!user.emailVerified) {
      throw new AppError(
        'conflict',
        'The email address of this user is not verified. Invite the address to an account, and try again after the user has joined.',
      );
    }
    await changeOperator(tx, actor, user, true);
    return { id: user.id, name: user.name, email: user.email };
  });
}

/**
 * Revokes the invitations that the operator created, and deletes a user who is a member of no account.
 * @throws AppError not_found, or conflict for the last operator
 */
export async function removeOperator(db: Queryable, actor: Actor, userId: string): Promise<void> {
  await db.transaction(async (tx) => {
    // Two operators cannot remove each other at the same time.
    const all = await tx.select().from(users).where(isAnOperator).orderBy(id).for('update');
    const user = requireFound(
      all.filter((one) => one.id === userId),
      'operator',
    );
    if (all.length === 1)
      throw new AppError('conflict', 'This is the last operator. Make another user an operator first.');
    const revoked = await revokeInvitationsOf(tx, actor, userId);
    await changeOperator(tx, actor, user, false, revoked);
    await deleteUsersWithoutAccount(tx, [userId]);
  });
}

/** Revokes the open invitations that an operator created, except to accounts that they own. @returns the audit records */
async function revokeInvitationsOf(tx: Transaction, actor: Actor, userId: string): Promise<AuditRecord[]> {
  const { accountId } = invitations;
  const isOwn = and(eq(memberships.accountId, accountId), eq(memberships.userId, userId));
  const isOwner = eq(memberships.role, 'owner');
  const found = await tx
    .selectDistinct({ accountId })
    .from(invitations)
    .leftJoin(memberships, and(isOwn, isOwner))
    .where(and(eq(invitations.createdBy, userId), isUnused, isNull(memberships.userId)))
    .orderBy(accountId);
  const revoked: AuditRecord[] = [];
  for (const { accountId } of found) {
    const records = await revokeInvitations(tx, accountId, eq(invitations.createdBy, userId));
    // The caller records them in the log of the operators, whose clock is locked after those of all accounts.
    await recordAudit(tx, { ...actor, accountId, isOperator: false }, records);
    revoked.push(...records);
  }
  return revoked;
}

async function changeOperator(
  tx: Transaction,
  actor: Actor,
  user: typeof users.$inferSelect,
  isOperator: boolean,
  revoked: readonly AuditRecord[] = [],
): Promise<void> {
  if (user.isOperator === isOperator) return;
  const target = { type: 'user', id: user.id, name: user.name } as const;
  const changes = [{ field: 'isOperator', from: user.isOperator, to: isOperator }];
  // Recorded first, because operators may remove themselves, and recording requires an operator.
  await recordAudit(tx, actor, [{ action: 'user.updated', target, changes }, ...revoked]);
  await tx.update(users).set({ isOperator }).where(eq(id, user.id));
}
