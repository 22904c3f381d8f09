import { AppError } from '@tocsin/contracts/errors';
import type { User } from '@tocsin/contracts/people/user';
import type { UserRole } from '@tocsin/contracts/vocabulary';
import { and, asc, count, eq, sql } from 'drizzle-orm';
import { v7 as uuidv7 } from 'uuid';
import { brokenUniqueConstraint } from '../database/errors.ts';
import type { Database, Queryable, Transaction } from '../database/open.ts';
import { accounts, userLogins, users, userTombstones } from './table.ts';

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

export const userColumns = {
  id: users.id,
  name: users.name,
  email: users.email,
  role: users.role,
  createdAt: users.createdAt,
};

export function toUser(row: Omit<User, 'createdAt'> & { createdAt: Date }): User {
  return { ...row, createdAt: row.createdAt.toISOString() };
}

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

/** The hash of the password of the user with this address, in any case; null where there is no such user, or no password. */
export async function findPasswordHash(db: Queryable, email: string): Promise<string | null> {
  const [login] = await db
    .select({ passwordHash: userLogins.passwordHash })
    .from(users)
    .innerJoin(userLogins, and(eq(userLogins.userId, users.id), eq(userLogins.providerId, 'credential')))
    .where(eq(sql`lower(${users.email})`, email.toLowerCase()));
  return login?.passwordHash ?? null;
}

/** The people of the account, the longest-standing first. */
export async function listUsers(db: Queryable, accountId: string): Promise<User[]> {
  const rows = await db
    .select(userColumns)
    .from(users)
    .where(eq(users.accountId, accountId))
    .orderBy(asc(users.createdAt), asc(users.id));
  return rows.map(toUser);
}

export interface NewUser {
  readonly accountId: string;
  readonly role: UserRole;
  readonly name: string;
  readonly email: string;
  /** Whether somebody else than the user vouches for the address. */
  readonly emailVerified: boolean;
  /** Null: signs in by single sign-on only. */
  readonly passwordHash: string | null;
}

/**
 * Creates a user, with a password where there is one. Belongs into a transaction.
 * @throws AppError conflict where somebody, in whatever account, has the address
 */
export async function createUser(db: Queryable, input: NewUser): Promise<User> {
  const { passwordHash, ...fields } = input;
  return db.transaction(async (tx) => {
    const id = uuidv7();
    const rows = await tx
      .insert(users)
      .values({ id, ...fields, email: fields.email.toLowerCase() })
      .returning(userColumns)
      .catch((error: unknown) => {
        throw brokenUniqueConstraint(error) === 'users_email_key' ? emailTaken() : error;
      });
    if (passwordHash !== null) {
      await tx.insert(userLogins).values({ userId: id, providerId: 'credential', subject: id, passwordHash });
    }
    const [row] = rows;
    if (!row) throw new Error('no row came back');
    return toUser(row);
  });
}

function emailTaken(): AppError {
  return new AppError('conflict', 'There is a user with this e-mail address already.', {
    errors: [{ path: 'email', message: 'is taken' }],
  });
}

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
