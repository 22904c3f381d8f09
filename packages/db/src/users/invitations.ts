import { AppError } from '@tocsin/contracts/errors';
import type { Invitation, User } from '@tocsin/contracts/people/user';
import type { UserRole } from '@tocsin/contracts/vocabulary';
import { generateInvitationToken, hashToken } from '@tocsin/core/secrets/tokens';
import { and, desc, eq, gt, sql } from 'drizzle-orm';
import { ensureFirstAccount, findAccountRow } from '../accounts/accounts.ts';
import { type Actor, systemActor, userActor } from '../audit-log/actor.ts';
import { recordAudit } from '../audit-log/record-audit.ts';
import type { Database, Queryable, Transaction } from '../database/open.ts';
import { clockNow, firstOf, toWire } from '../database/sql.ts';
import { lockUsers, lockUsersFor } from './lock-users.ts';
import { invitations, users } from './table.ts';
import {
  auditInvitation,
  auditUser,
  findUserByEmail,
  hasUsers,
  insertMember,
  insertUser,
  isInvitationFor,
  isMember,
  isUnused,
  revokeInvitations,
} from './users.ts';

type InvitationRow = typeof invitations.$inferSelect;

const wireColumns = {
  id: invitations.id,
  role: invitations.role,
  email: invitations.email,
  expiresAt: invitations.expiresAt,
  createdAt: invitations.createdAt,
};

const isOpen = and(isUnused, gt(invitations.expiresAt, sql`now()`));

export function invitationNotFound(): AppError {
  return new AppError('not_found', 'There is no such invitation.');
}

function gone(): AppError {
  return new AppError('gone', 'This invitation was used or has expired. Ask for another one.');
}

/** Lists the account's open invitations, newest first. */
export async function listInvitations(db: Queryable, accountId: string): Promise<Invitation[]> {
  const rows = await db
    .select(wireColumns)
    .from(invitations)
    .where(and(eq(invitations.accountId, accountId), eq(invitations.isSetup, false), isOpen))
    .orderBy(desc(invitations.createdAt), desc(invitations.id));
  return rows.map(toWire);
}

/** Without an `email`, the person with the link chooses one. */
export type NewInvitation = Readonly<Pick<InvitationRow, 'role' | 'email'>>;

/**
 * Creates an invitation. The link works for 7 days. The token is returned only once. An invitation by the system is the setup link.
 * @throws AppError owner_required, operator_required, conflict if a member of this account has the address
 */
export async function createInvitation(
  db: Queryable,
  actor: Actor,
  input: NewInvitation,
): Promise<{ invitation: Invitation; token: string }> {
  const { accountId, type, id } = actor;
  const email = input.email?.toLowerCase() ?? null;
  const token = generateInvitationToken();
  const tokenHash = hashToken(token);
  const values = {
    ...input,
    accountId,
    email,
    tokenHash,
    expiresAt: sql`now() + interval '7 days'`,
    isSetup: type === 'system',
    createdBy: type === 'user' ? id : null,
  };
  const created = await db.transaction(async (tx) => {
    await lockUsersFor(tx, actor);
    const user = email === null ? null : await findUserByEmail(tx, email);
    if (user !== null && (await isMember(tx, accountId, user.id))) {
      throw new AppError('conflict', 'A user with this email address already exists in this account.', {
        errors: [{ path: 'email', message: 'already belongs to a user' }],
      });
    }
    // Operators do not see open invitations, and a pipeline may repeat the request with another role.
    const replaced =
      actor.isOperator === true && email !== null
        ? await revokeInvitations(tx, accountId, isInvitationFor(email))
        : [];
    const row = firstOf(await tx.insert(invitations).values(values).returning(wireColumns));
    await recordAudit(tx, actor, [...replaced, auditInvitation('created', row)]);
    return row;
  });
  return { invitation: toWire(created), token };
}

/** Replaces the setup link, which creates the first owner. Returns null if the installation has users, or if the first account was deleted. */
export async function renewSetupInvitation(db: Database): Promise<string | null> {
  const { id: accountId, isDeleted } = await ensureFirstAccount(db);
  if (isDeleted) return null;
  return db.transaction(async (tx) => {
    await lockUsers(tx, accountId);
    const actor = systemActor(accountId);
    const revoked = await revokeInvitations(tx, accountId, eq(invitations.isSetup, true));
    const input = { role: 'owner', email: null } as const;
    const created = (await hasUsers(tx)) ? null : await createInvitation(tx, actor, input);
    await recordAudit(tx, actor, revoked);
    return created?.token ?? null;
  });
}

/** Finds the open invitation of a token. @throws AppError not_found, or gone if it was used or has expired */
export async function findOpenInvitation(db: Queryable, token: string): Promise<InvitationRow> {
  const [row] = await db
    .select({ invitation: invitations, isOpen: sql<boolean>`${isOpen}` })
    .from(invitations)
    .where(eq(invitations.tokenHash, hashToken(token)));
  if (!row) throw invitationNotFound();
  if (!row.isOpen) throw gone();
  return row.invitation;
}

/** Returns the details that a person with the token may know. @throws AppError not_found, or gone if it cannot be accepted any more */
export async function checkInvitation(
  db: Queryable,
  token: string,
): Promise<Pick<Invitation, 'email' | 'expiresAt'> & { accountName: string; isUser: boolean }> {
  const { accountId, isSetup, email, expiresAt } = await findOpenInvitation(db, token);
  if (isSetup && (await hasUsers(db))) throw gone();
  const { name: accountName } = await findAccountRow(db, accountId);
  const isUser = email !== null && (await findUserByEmail(db, email)) !== null;
  return { ...toWire({ email, expiresAt }), accountName, isUser };
}

export interface Acceptance {
  readonly token: string;
  readonly name: string;
  readonly email: string | null;
  readonly passwordHash: string;
}

/** Creates a user for the person with the token, once. @throws AppError not_found, gone, conflict, or validation_failed without an address */
export async function acceptInvitation(
  db: Database,
  { token, name, passwordHash, ...given }: Acceptance,
  requestId: string | null = null,
): Promise<User> {
  return db.transaction(async (tx) => {
    const { accountId } = await findOpenInvitation(tx, token);
    // The invitation is read again under the lock, because this transaction may have waited for another request with the same token.
    await lockUsers(tx, accountId);
    const invitation = await findOpenInvitation(tx, token);
    if (invitation.isSetup && (await hasUsers(tx))) throw gone();
    const email = invitation.email ?? given.email;
    if (email === null) {
      throw new AppError('validation_failed', 'This invitation contains no email address. Enter yours.', {
        errors: [{ path: 'email', message: 'is required' }],
      });
    }
    const emailVerified = invitation.email !== null || invitation.isSetup;
    // The first user of an installation manages its accounts.
    const person = { name, email, emailVerified, passwordHash, isOperator: invitation.isSetup };
    const user = await admit(tx, invitation, email, requestId, (role) =>
      insertUser(tx, accountId, { ...person, role }),
    );
    if (user === null) throw invitationNotFound();
    return user;
  });
}

/**
 * Adds a signed-in user to the account of an invitation, once.
 * @returns the id of the account @throws AppError not_found, gone, or conflict if it is for another address or the user is a member
 */
export async function joinByInvitation(
  db: Database,
  token: string,
  userId: string,
  requestId: string | null = null,
): Promise<string> {
  return db.transaction(async (tx) => {
    const { accountId } = await findOpenInvitation(tx, token);
    await lockUsers(tx, accountId);
    const invitation = await findOpenInvitation(tx, token);
    const [user] = await tx.select().from(users).where(eq(users.id, userId)).for('key share');
    if (user === undefined) throw new AppError('not_signed_in', 'The user was removed. Sign in again.');
    const { email } = user;
    if (invitation.email !== null && invitation.email !== email) {
      throw new AppError(
        'conflict',
        `This invitation is for ${invitation.email}, and you are signed in as ${email}. Sign in as that user.`,
      );
    }
    if (await isMember(tx, accountId, userId))
      throw new AppError('conflict', 'You are a member of this account already.');
    const joined = await admit(tx, invitation, email, requestId, (role) =>
      insertMember(tx, accountId, userId, role),
    );
    if (joined === null) throw invitationNotFound();
    // The link was sent to this address.
    if (invitation.email !== null)
      await tx.update(users).set({ emailVerified: true }).where(eq(users.id, userId));
    return accountId;
  });
}

/** Accepts the newest open invitation for an address that single sign-on has verified. @returns false without one, or if a user has the address */
export async function acceptInvitationOf(db: Database, email: string, name: string): Promise<boolean> {
  return db.transaction(async (tx) => {
    const [found] = await tx
      .select()
      .from(invitations)
      .where(and(eq(invitations.email, email.toLowerCase()), isOpen))
      .orderBy(desc(invitations.createdAt), desc(invitations.id))
      .limit(1);
    if (!found) return false;
    await lockUsers(tx, found.accountId);
    if ((await findUserByEmail(tx, email)) !== null) return false;
    const person = { name, email, emailVerified: true, passwordHash: null };
    const user = await admit(tx, found, email, null, (role) =>
      insertUser(tx, found.accountId, { ...person, role }),
    );
    return user !== null;
  });
}

/** Adds the user and deletes other invitations for the address, which could undo a removal. Returns null if the invitation was already accepted or revoked. */
async function admit(
  tx: Transaction,
  invitation: InvitationRow,
  email: string,
  requestId: string | null,
  add: (role: UserRole) => Promise<User>,
): Promise<User | null> {
  const { id, accountId, role } = invitation;
  const isThis = and(eq(invitations.id, id), isUnused);
  const { rowCount } = await tx.update(invitations).set({ acceptedAt: clockNow }).where(isThis);
  if (rowCount === 0) return null;
  const user = await add(role);
  const revoked = await revokeInvitations(tx, accountId, isInvitationFor(email));
  const accepted = auditInvitation('accepted', invitation);
  const actor = userActor(accountId, user.id, user.name, requestId);
  await recordAudit(tx, actor, [accepted, ...auditUser(null, user), ...revoked]);
  return user;
}

/** Revokes an invitation. Its link stops working at once. @throws AppError owner_required, or not_found, even if it was accepted */
export async function deleteInvitation(db: Queryable, actor: Actor, id: string): Promise<void> {
  await db.transaction(async (tx) => {
    await lockUsersFor(tx, actor);
    const revoked = await revokeInvitations(tx, actor.accountId, eq(invitations.id, id));
    if (revoked.length === 0) throw invitationNotFound();
    await recordAudit(tx, actor, revoked);
  });
}
