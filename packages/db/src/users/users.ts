import { HIDDEN_SECRET } from '@tocsin/contracts/fields';
import { AppError } from '@tocsin/contracts/errors';
import type { User } from '@tocsin/contracts/people/user';
import type { UserRole } from '@tocsin/contracts/vocabulary';
import { and, asc, eq, isNull, or, type SQL, sql } from 'drizzle-orm';
import type { Actor } from '../audit-log/actor.ts';
import { deleteApiKeysOf } from '../api-keys/api-keys.ts';
import {
  type AuditRecord,
  changesOf,
  ensureOperatorsAccount,
  recordAudit,
  recordOf,
} from '../audit-log/record-audit.ts';
import { violatedUniqueConstraint, requireFound } from '../database/errors.ts';
import type { Queryable, Transaction } from '../database/open.ts';
import { arrayOf, firstOf, toWire } from '../database/sql.ts';
import { isMembership, lockUsersFor } from './lock-users.ts';
import { invitations, memberships, userLogins, users, userTombstones } from './table.ts';

/** Finds a member of an account. @throws AppError not_found */
export async function findUser(db: Queryable, accountId: string, id: string): Promise<User> {
  return toWire(requireFound(await selectMembers(db, accountId, eq(users.id, id)), 'user'));
}

/** Members of an account, oldest first. */
function selectMembers(db: Queryable, accountId: string, condition?: SQL) {
  return db
    .select({
      id: users.id,
      name: users.name,
      email: users.email,
      role: memberships.role,
      fromGroup: memberships.isFromGroup,
      createdAt: memberships.createdAt,
    })
    .from(memberships)
    .innerJoin(users, eq(users.id, memberships.userId))
    .where(and(eq(memberships.accountId, accountId), condition))
    .orderBy(asc(memberships.createdAt), asc(users.id));
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

/** Finds the user with this address, whom no other transaction deletes or changes until this one ends. */
export async function lockUserByEmail(tx: Transaction, email: string): Promise<UserRow | null> {
  const [user] = await tx.select().from(users).where(hasEmail(email)).for('no key update');
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
  return (await selectMembers(db, accountId)).map(toWire);
}

/** True if anyone has set up this installation. */
export async function hasUsers(db: Queryable): Promise<boolean> {
  return (await db.$count(users)) > 0;
}

export interface NewUser extends Readonly<Pick<UserRow, 'name' | 'email' | 'emailVerified'>> {
  readonly role: UserRole;
  /** Defaults to false. */
  readonly isOperator?: boolean;
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
  { role, ...user }: NewUser,
): Promise<User> {
  return insertMember(tx, accountId, await insertPerson(tx, user), role);
}

/** Creates a user without an account. @returns the id @throws AppError conflict if another user has the address */
export async function insertPerson(
  tx: Transaction,
  { passwordHash, email, ...fields }: Omit<NewUser, 'role'>,
): Promise<string> {
  const rows = await tx
    .insert(users)
    .values({ ...fields, email: email.toLowerCase() })
    .returning({ id: users.id })
    .catch((error: unknown) => {
      if (violatedUniqueConstraint(error) !== 'users_email_key') throw error;
      throw new AppError('conflict', 'A user with this email address already exists.', {
        errors: [{ path: 'email', message: 'is taken' }],
      });
    });
  const { id } = firstOf(rows);
  await tx.delete(userTombstones).where(isTombstoneOf(email));
  if (passwordHash !== null) {
    const login = { userId: id, providerId: 'credential', subject: id, passwordHash };
    await tx.insert(userLogins).values(login);
  }
  return id;
}

/** Adds a user to an account, without auditing it. Call it after `lockUsers`. */
export async function insertMember(
  tx: Transaction,
  accountId: string,
  userId: string,
  role: UserRole,
  isFromGroup = false,
): Promise<User> {
  await tx.insert(memberships).values({ accountId, userId, role, isFromGroup });
  return findUser(tx, accountId, userId);
}

type AuditedUser = Pick<User, 'id' | 'name' | 'role'>;

/** Audits a change of a user, without the address, which members may not see. */
export function auditUser(before: AuditedUser | null, after: AuditedUser | null): AuditRecord[] {
  const fieldsOf = ({ id, name, role }: AuditedUser): AuditedUser => ({ id, name, role });
  return recordOf('user', before && fieldsOf(before), after && fieldsOf(after));
}

/** Requires another owner, because an account without an owner could never get one again. Call it after `lockUsers`. @throws AppError conflict */
async function requireAnotherOwner(tx: Transaction, accountId: string): Promise<void> {
  if (await hasAnotherOwner(tx, accountId)) return;
  throw new AppError('conflict', 'This is the last owner of the account. Make another user an owner first.');
}

/** Reports whether an account keeps an owner without one of its owners. Call it after `lockUsers`. */
export async function hasAnotherOwner(tx: Transaction, accountId: string): Promise<boolean> {
  const isOwner = and(eq(memberships.accountId, accountId), eq(memberships.role, 'owner'));
  return (await tx.$count(memberships, isOwner)) >= 2;
}

function isTombstoneOf(email: string): SQL {
  return eq(userTombstones.email, email.toLowerCase());
}

/** Reports whether the user with this address was deleted, and has not become a user again. */
export async function wasDeleted(db: Queryable, email: string): Promise<boolean> {
  return (await db.$count(userTombstones, isTombstoneOf(email))) > 0;
}

export const isUnused = isNull(invitations.acceptedAt);

/** Revokes the account's open invitations that meet a condition. @returns the audit records */
export async function revokeInvitations(
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

/** Changes the role of a member, which then no longer comes from a group. @throws AppError not_found, or conflict for the last owner */
export async function setUserRole(db: Queryable, actor: Actor, id: string, role: UserRole): Promise<User> {
  const { accountId } = actor;
  return db.transaction(async (tx) => {
    await lockUsersFor(tx, actor);
    const records = await changeRole(tx, accountId, id, { role, isFromGroup: false });
    const user = await findUser(tx, accountId, id);
    await recordAudit(tx, actor, records);
    return user;
  });
}

/**
 * Changes the role of a member, without auditing it. An owner who becomes something else loses the invitations made as an owner. Call it after
 * `lockUsers`. @returns the audit records @throws AppError not_found, or conflict for the last owner
 */
export async function changeRole(
  tx: Transaction,
  accountId: string,
  id: string,
  change: { readonly role: UserRole; readonly isFromGroup: boolean },
): Promise<AuditRecord[]> {
  const before = await findUser(tx, accountId, id);
  const revoked: AuditRecord[] = [];
  if (before.role === 'owner' && change.role !== 'owner') {
    await requireAnotherOwner(tx, accountId);
    revoked.push(...(await revokeInvitations(tx, accountId, eq(invitations.createdBy, id))));
  }
  await tx.update(memberships).set(change).where(isMembership(accountId, id));
  return [...auditUser(before, { ...before, role: change.role }), ...revoked];
}

/** Removes a member, and deletes a user who has no other account and is no operator. @throws AppError not_found, or conflict for the last owner */
export async function deleteUser(
  db: Queryable,
  actor: Actor,
  id: string,
  options: Parameters<typeof removeMember>[3] = {},
): Promise<void> {
  await db.transaction(async (tx) => {
    await lockUsersFor(tx, actor);
    const records = await removeMember(tx, actor.accountId, id, options);
    await deleteUsersWithoutAccount(tx, [id]);
    await recordAudit(tx, actor, records);
  });
}

/**
 * Removes a member, with invitations by or for the user, without auditing it. Call it after `lockUsers`.
 * @param revokeApiKeys true to delete the API keys that the user created in the account. A viewer's keys are always deleted, because only the
 * role keeps them from writing
 * @returns the audit records @throws AppError not_found, or conflict for the last owner
 */
export async function removeMember(
  tx: Transaction,
  accountId: string,
  id: string,
  { revokeApiKeys = true } = {},
): Promise<AuditRecord[]> {
  const user = await findUser(tx, accountId, id);
  // This waits for a key that the user is creating.
  await tx.select({ id: users.id }).from(users).where(eq(users.id, id)).for('update');
  if (user.role === 'owner') await requireAnotherOwner(tx, accountId);
  const isOfUser = or(isInvitationFor(user.email), eq(invitations.createdBy, id));
  const revoked = await revokeInvitations(tx, accountId, isOfUser);
  await tx.delete(memberships).where(isMembership(accountId, id));
  const revokes = revokeApiKeys || user.role === 'viewer';
  const deletedKeys = revokes ? await deleteApiKeysOf(tx, accountId, id) : [];
  return [...auditUser(user, null), ...revoked, ...deletedKeys];
}

export async function isMember(db: Queryable, accountId: string, userId: string): Promise<boolean> {
  return (await db.$count(memberships, isMembership(accountId, userId))) > 0;
}

/**
 * Deletes the users who are neither operators nor members of any account, with their sessions. Tombstones keep `BOOTSTRAP_ADMIN_EMAIL` from
 * creating them again.
 */
export async function deleteUsersWithoutAccount(tx: Transaction, ids: readonly string[]): Promise<void> {
  const isOne = sql`${users.id} = any(${arrayOf('uuid', ids)})`;
  // This waits for transactions that add or remove one of the users, so that the deletion sees their changes.
  await tx.select({ id: users.id }).from(users).where(isOne).orderBy(users.id).for('update');
  const hasNoAccount = sql`not exists (select from ${memberships} where ${memberships.userId} = ${users.id})`;
  const isDeletable = and(isOne, eq(users.isOperator, false), hasNoAccount);
  const deleted = await tx.delete(users).where(isDeletable).returning({ email: users.email });
  if (deleted.length === 0) return;
  const accountId = await ensureOperatorsAccount(tx);
  const tombstones = deleted.map(({ email }) => ({ accountId, email: email.toLowerCase() }));
  await tx.insert(userTombstones).values(tombstones).onConflictDoNothing();
}
