import { HIDDEN_SECRET } from '@tocsin/contracts/fields';
import { AppError } from '@tocsin/contracts/errors';
import type { User } from '@tocsin/contracts/people/user';
import type { UserRole } from '@tocsin/contracts/vocabulary';
import { and, asc, eq, isNull, or, type SQL, sql } from 'drizzle-orm';
import type { Actor } from '../audit-log/actor.ts';
import { deleteApiKeysOf } from '../api-keys/api-keys.ts';
import { type AuditRecord, changesOf, recordAudit, recordOf } from '../audit-log/record-audit.ts';
import { violatedUniqueConstraint, requireFound } from '../database/errors.ts';
import type { Database, Queryable, Transaction } from '../database/open.ts';
import { clockNow, firstOf, queryColumn, toWire } from '../database/sql.ts';
import { accounts, invitations, userLogins, users, userTombstones } from './table.ts';

/** Returns the first account, and creates it if there is none. Processes that start at the same time agree on one account. */
export async function ensureAccount(db: Database): Promise<{ id: string }> {
  return db.transaction(async (tx) => {
    await tx.execute(sql`lock table ${accounts} in share row exclusive mode`);
    const [id] = await queryColumn(tx)`select id from accounts order by created_at, id limit 1`;
    if (id !== undefined) return { id };
    return firstOf(await tx.insert(accounts).values({ name: 'Default' }).returning({ id: accounts.id }));
  });
}

const userColumns = {
  id: users.id,
  name: users.name,
  email: users.email,
  role: users.role,
  createdAt: users.createdAt,
};

/** Finds a user with the account. @throws AppError not_found */
export async function findUserWithAccount(
  db: Queryable,
  accountId: string,
  id: string,
): Promise<{ user: User; account: { id: string; name: string } }> {
  const rows = await db
    .select({ user: userColumns, account: { id: accounts.id, name: accounts.name } })
    .from(users)
    .innerJoin(accounts, eq(accounts.id, users.accountId))
    .where(and(eq(users.id, id), eq(users.accountId, accountId)));
  const { user, account } = requireFound(rows, 'user');
  return { user: toWire(user), account };
}

type UserRow = typeof users.$inferSelect;
type InvitationRow = typeof invitations.$inferSelect;

/** Addresses are compared in lower case and are unique across accounts. */
function hasEmail(email: string): SQL {
  return eq(sql`lower(${users.email})`, email.toLowerCase());
}

/** Finds the user with this address in any account. */
export async function findUserByEmail(db: Queryable, email: string): Promise<UserRow | null> {
  const [user] = await db.select().from(users).where(hasEmail(email));
  return user ?? null;
}

/** Returns the password hash of the user with this address. Null without such a user or without a password. */
export async function findPasswordHash(db: Queryable, email: string): Promise<string | null> {
  const [login] = await db
    .select({ passwordHash: userLogins.passwordHash })
    .from(users)
    .innerJoin(userLogins, and(eq(userLogins.userId, users.id), eq(userLogins.providerId, 'credential')))
    .where(hasEmail(email));
  return login?.passwordHash ?? null;
}

/** Lists the account's users, oldest first. */
export async function listUsers(db: Queryable, accountId: string): Promise<User[]> {
  const rows = await db
    .select(userColumns)
    .from(users)
    .where(eq(users.accountId, accountId))
    .orderBy(asc(users.createdAt), asc(users.id));
  return rows.map(toWire);
}

export async function hasUsers(db: Queryable, accountId: string): Promise<boolean> {
  return (await db.$count(users, eq(users.accountId, accountId))) > 0;
}

export interface NewUser extends Readonly<Pick<UserRow, 'role' | 'name' | 'email' | 'emailVerified'>> {
  /** Null for single sign-on only. */
  readonly passwordHash: string | null;
}

/** Creates a user, with a password if there is one. @throws AppError conflict if a user of any account has the address */
export async function createUser(db: Queryable, actor: Actor, user: NewUser): Promise<User> {
  return db.transaction(async (tx) => {
    const created = await insertUser(tx, actor.accountId, user);
    await recordAudit(tx, actor, auditUser(null, created));
    return created;
  });
}

/** Creates a user as `createUser` does, without auditing it. */
export async function insertUser(
  tx: Transaction,
  accountId: string,
  { passwordHash, email, ...fields }: NewUser,
): Promise<User> {
  const rows = await tx
    .insert(users)
    .values({ accountId, ...fields, email: email.toLowerCase() })
    .returning(userColumns)
    .catch((error: unknown) => {
      if (violatedUniqueConstraint(error) !== 'users_email_key') throw error;
      throw new AppError('conflict', 'A user with this e-mail address already exists.', {
        errors: [{ path: 'email', message: 'is taken' }],
      });
    });
  const user = firstOf(rows);
  if (passwordHash !== null) {
    const login = { userId: user.id, providerId: 'credential', subject: user.id, passwordHash };
    await tx.insert(userLogins).values(login);
  }
  return toWire(user);
}

type AuditedUser = Pick<UserRow, 'id' | 'name' | 'role'>;

/** Audits a change of a user, without the address, which members may not see. */
export function auditUser(before: AuditedUser | null, after: AuditedUser | null): AuditRecord[] {
  const fieldsOf = ({ id, name, role }: AuditedUser): AuditedUser => ({ id, name, role });
  return recordOf('user', before && fieldsOf(before), after && fieldsOf(after));
}

/** Locks the set of the account's users until the transaction ends. */
export async function lockUsers(tx: Transaction, accountId: string): Promise<void> {
  await tx.select({ id: accounts.id }).from(accounts).where(eq(accounts.id, accountId)).for('no key update');
}

/** Requires another owner, because an account without an owner could never get one again. Call it after `lockUsers`. @throws AppError conflict */
async function requireAnotherOwner(tx: Transaction, accountId: string): Promise<void> {
  const owners = await tx.$count(users, and(eq(users.accountId, accountId), eq(users.role, 'owner')));
  if (owners >= 2) return;
  throw new AppError('conflict', 'This is the last owner of the account. Make another user an owner first.');
}

function isTombstoneOf(accountId: string, email: string): SQL | undefined {
  return and(eq(userTombstones.accountId, accountId), eq(userTombstones.email, email.toLowerCase()));
}

/** Reports whether the account's user with this address was removed, and has not been invited again. */
export async function wasRemoved(db: Queryable, accountId: string, email: string): Promise<boolean> {
  return (await db.$count(userTombstones, isTombstoneOf(accountId, email))) > 0;
}

/** Forgets the removal of a user who was invited again. */
export async function liftTombstone(db: Queryable, accountId: string, email: string): Promise<void> {
  await db.delete(userTombstones).where(isTombstoneOf(accountId, email));
}

export const isUnused = isNull(invitations.acceptedAt);

/** Withdraws the account's open invitations that meet a condition. @returns the audit records */
export async function withdrawInvitations(
  tx: Transaction,
  accountId: string,
  condition: SQL | undefined,
): Promise<AuditRecord[]> {
  const isOne = and(eq(invitations.accountId, accountId), isUnused, condition);
  const deleted = await tx.delete(invitations).where(isOne).returning();
  return deleted.map((row) => auditInvitation('deleted', row));
}

export function isInvitationFor(email: string): SQL {
  return eq(invitations.email, email.toLowerCase());
}

/** Audits a change of an invitation, without the address, which members may not see. */
export function auditInvitation(
  what: 'created' | 'accepted' | 'deleted',
  { id, role, email }: Pick<InvitationRow, 'id' | 'role' | 'email'>,
): AuditRecord {
  const fields = { role, email: email && HIDDEN_SECRET };
  const changes = what === 'created' ? changesOf(null, fields) : changesOf(fields, null);
  return { action: `invitation.${what}`, target: { type: 'invitation', id, name: role }, changes };
}

/** An owner who becomes a member loses the invitations made as an owner. @throws AppError not_found, or conflict for the last owner */
export async function setUserRole(db: Database, actor: Actor, id: string, role: UserRole): Promise<User> {
  const { accountId } = actor;
  return db.transaction(async (tx) => {
    await lockUsers(tx, accountId);
    const isUser = and(eq(users.id, id), eq(users.accountId, accountId));
    const before = requireFound(await tx.select(userColumns).from(users).where(isUser), 'user');
    if (before.role === role) return toWire(before);
    const withdrawn: AuditRecord[] = [];
    if (role !== 'owner') {
      await requireAnotherOwner(tx, accountId);
      withdrawn.push(...(await withdrawInvitations(tx, accountId, eq(invitations.createdBy, id))));
    }
    const update = tx.update(users).set({ role, updatedAt: clockNow });
    const after = firstOf(await update.where(isUser).returning(userColumns));
    await recordAudit(tx, actor, [...auditUser(before, after), ...withdrawn]);
    return toWire(after);
  });
}

/**
 * Deletes a user, with invitations by or for the user. A tombstone keeps the settings from creating the user again.
 * @param revokeApiKeys deletes the API keys that the user created @throws AppError not_found, or conflict for the last owner
 */
export async function deleteUser(
  db: Database,
  actor: Actor,
  id: string,
  { revokeApiKeys = true } = {},
): Promise<void> {
  const { accountId } = actor;
  await db.transaction(async (tx) => {
    await lockUsers(tx, accountId);
    const isUser = and(eq(users.id, id), eq(users.accountId, accountId));
    // This waits for an invitation or a key that the user is creating.
    const user = requireFound(await tx.select(userColumns).from(users).where(isUser).for('update'), 'user');
    if (user.role === 'owner') await requireAnotherOwner(tx, accountId);
    const isOfUser = or(isInvitationFor(user.email), eq(invitations.createdBy, id));
    const withdrawn = await withdrawInvitations(tx, accountId, isOfUser);
    await tx.delete(users).where(isUser);
    const revoked = revokeApiKeys ? await deleteApiKeysOf(tx, id) : [];
    await tx
      .insert(userTombstones)
      .values({ accountId, email: user.email.toLowerCase() })
      .onConflictDoNothing();
    await recordAudit(tx, actor, [...auditUser(user, null), ...withdrawn, ...revoked]);
  });
}
