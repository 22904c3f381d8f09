import type { Operator } from '@tocsin/contracts/accounts/account';
import { AppError } from '@tocsin/contracts/errors';
import { and, asc, eq, sql } from 'drizzle-orm';
import type { Actor } from '../audit-log/actor.ts';
import { recordAudit } from '../audit-log/record-audit.ts';
import { requireFound } from '../database/errors.ts';
import type { Queryable, Transaction } from '../database/open.ts';
import { users } from '../users/table.ts';
import { deleteUsersWithoutAccount, findUserByEmail } from '../users/users.ts';

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

/** Makes the user with this address an operator. @throws AppError not_found */
export async function addOperator(db: Queryable, actor: Actor, address: string): Promise<Operator> {
  return db.transaction(async (tx) => {
    const user = await findUserByEmail(tx, address);
    if (user === null) throw new AppError('not_found', 'There is no user with this e-mail address.');
    await changeOperator(tx, actor, user, true);
    return { id: user.id, name: user.name, email: user.email };
  });
}

/** Deletes a user who is a member of no account. @throws AppError not_found, or conflict for the last operator */
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
    await changeOperator(tx, actor, user, false);
    await deleteUsersWithoutAccount(tx, [userId]);
  });
}

async function changeOperator(
  tx: Transaction,
  actor: Actor,
  user: typeof users.$inferSelect,
  isOperator: boolean,
): Promise<void> {
  if (user.isOperator === isOperator) return;
  await tx.update(users).set({ isOperator }).where(eq(id, user.id));
  const target = { type: 'user', id: user.id, name: user.name } as const;
  const changes = [{ field: 'isOperator', from: user.isOperator, to: isOperator }];
  await recordAudit(tx, actor, [{ action: 'user.updated', target, changes }]);
}
