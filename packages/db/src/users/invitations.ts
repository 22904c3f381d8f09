import { AppError } from '@tocsin/contracts/errors';
import type { Invitation, User } from '@tocsin/contracts/people/user';
import type { UserRole } from '@tocsin/contracts/vocabulary';
import { generateInvitationToken, hashToken } from '@tocsin/core/secrets/tokens';
import { and, desc, eq, gt, isNull, sql } from 'drizzle-orm';
import { v7 as uuidv7 } from 'uuid';
import type { Database, Queryable, Transaction } from '../database/open.ts';
import { clockNow, firstOf, toWire } from '../database/sql.ts';
import { invitations } from './table.ts';
import { createUser, ensureAccount, findUserByEmail, hasUsers, liftTombstone, lockUsers } from './users.ts';

/** How long the link of an invitation works. */
const VALID_FOR = sql`interval '7 days'`;

/** The columns of an invitation's wire record. */
const wireColumns = {
  id: invitations.id,
  role: invitations.role,
  email: invitations.email,
  expiresAt: invitations.expiresAt,
  createdAt: invitations.createdAt,
};

const isUnused = isNull(invitations.acceptedAt);
const isOpen = and(isUnused, gt(invitations.expiresAt, sql`now()`));

export function invitationNotFound(): AppError {
  return new AppError('not_found', 'There is no such invitation.');
}

function gone(): AppError {
  return new AppError('gone', 'This invitation was used or has expired: ask for another one.');
}

/** The open invitations of the account, newest first. */
export async function listInvitations(db: Queryable, accountId: string): Promise<Invitation[]> {
  const rows = await db
    .select(wireColumns)
    .from(invitations)
    .where(and(eq(invitations.accountId, accountId), eq(invitations.isSetup, false), isOpen))
    .orderBy(desc(invitations.createdAt), desc(invitations.id));
  return rows.map(toWire);
}

export interface NewInvitation {
  readonly accountId: string;
  readonly role: UserRole;
  /** Null: the person who has the link chooses one. */
  readonly email: string | null;
  /** The owner who invites; null: the setup link of an account without users. */
  readonly createdBy: string | null;
}

/**
 * Creates an invitation. Its token cannot be read again.
 * @throws AppError conflict if a user of the same account has the address; users of other accounts are not revealed
 */
export async function createInvitation(
  db: Queryable,
  input: NewInvitation,
): Promise<{ invitation: Invitation; token: string }> {
  const email = input.email?.toLowerCase() ?? null;
  const user = email === null ? null : await findUserByEmail(db, email);
  if (user?.accountId === input.accountId) {
    throw new AppError('conflict', 'Somebody with this e-mail address is a user of the account already.', {
      errors: [{ path: 'email', message: 'is a user already' }],
    });
  }
  const token = generateInvitationToken();
  const rows = await db
    .insert(invitations)
    .values({
      id: uuidv7(),
      ...input,
      email,
      tokenHash: hashToken(token),
      expiresAt: sql`now() + ${VALID_FOR}`,
      isSetup: input.createdBy === null,
    })
    .returning(wireColumns);
  return { invitation: toWire(firstOf(rows)), token };
}

/** A new token of the setup link, which makes the first owner; the former one stops working. Null if the first account has a user. */
export async function renewSetupInvitation(db: Database): Promise<string | null> {
  const { id: accountId } = await ensureAccount(db);
  return db.transaction(async (tx) => {
    await lockUsers(tx, accountId);
    await tx
      .delete(invitations)
      .where(and(eq(invitations.accountId, accountId), eq(invitations.isSetup, true), isUnused));
    if (await hasUsers(tx, accountId)) return null;
    const input = { accountId, role: 'owner', email: null, createdBy: null } as const;
    return (await createInvitation(tx, input)).token;
  });
}

type OpenInvitation = Pick<
  typeof invitations.$inferSelect,
  'id' | 'accountId' | 'role' | 'email' | 'isSetup'
>;

/** The open invitation of a token. @throws AppError not_found; gone if it was used or has expired */
export async function findOpenInvitation(db: Queryable, token: string): Promise<OpenInvitation> {
  const { id, accountId, role, email, isSetup } = invitations;
  const [row] = await db
    .select({ invitation: { id, accountId, role, email, isSetup }, isOpen: sql<boolean>`${isOpen}` })
    .from(invitations)
    .where(eq(invitations.tokenHash, hashToken(token)));
  if (!row) throw invitationNotFound();
  if (!row.isOpen) throw gone();
  return row.invitation;
}

export interface Acceptance {
  readonly token: string;
  readonly name: string;
  /** Used only if the invitation names no address. */
  readonly email: string | null;
  readonly passwordHash: string;
}

/**
 * Makes a user of the person who has the token. Of several at once one succeeds.
 * @throws AppError not_found; gone; conflict if the address is taken; validation_failed without an address
 */
export async function acceptInvitation(db: Database, input: Acceptance): Promise<User> {
  return db.transaction(async (tx) => {
    const { accountId } = await findOpenInvitation(tx, input.token);
    // Read again under the lock: it may have waited for another request with the same token.
    await lockUsers(tx, accountId);
    const invitation = await findOpenInvitation(tx, input.token);
    if (invitation.isSetup && (await hasUsers(tx, accountId))) throw gone();
    const email = invitation.email ?? input.email;
    if (email === null) {
      throw new AppError('validation_failed', 'This invitation names no e-mail address: give yours.', {
        errors: [{ path: 'email', message: 'is required' }],
      });
    }
    if (!(await claimInvitation(tx, invitation.id))) throw invitationNotFound();
    return admit(tx, invitation, {
      name: input.name,
      email,
      emailVerified: invitation.email !== null || invitation.isSetup,
      passwordHash: input.passwordHash,
    });
  });
}

/**
 * Accepts the newest open invitation for a verified address, when its owner signs in by single sign-on.
 * @returns false without such an invitation, or if a user has the address already
 */
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
    if ((await findUserByEmail(tx, email)) !== null || !(await claimInvitation(tx, found.id))) return false;
    await admit(tx, found, { name, email, emailVerified: true, passwordHash: null });
    return true;
  });
}

/** @returns false if it was accepted, or withdrawn, since it was read */
async function claimInvitation(tx: Transaction, id: string): Promise<boolean> {
  const { rowCount } = await tx
    .update(invitations)
    .set({ acceptedAt: clockNow })
    .where(and(eq(invitations.id, id), isUnused));
  return rowCount === 1;
}

/** Makes a user by a claimed invitation, and deletes every other one for the address: after a removal none may bring the user back. */
async function admit(
  tx: Transaction,
  { accountId, role }: OpenInvitation,
  person: { name: string; email: string; emailVerified: boolean; passwordHash: string | null },
): Promise<User> {
  const user = await createUser(tx, { accountId, role, ...person });
  await deleteOpenInvitationsOf(tx, accountId, person.email);
  await liftTombstone(tx, accountId, person.email);
  return user;
}

/** Withdraws an invitation: its link stops working at once. @throws AppError not_found, also if it was accepted */
export async function deleteInvitation(db: Queryable, accountId: string, id: string): Promise<void> {
  const deleted = await db
    .delete(invitations)
    .where(and(eq(invitations.id, id), eq(invitations.accountId, accountId), isUnused));
  if (deleted.rowCount !== 1) throw invitationNotFound();
}

/** Withdraws every invitation of the account for this address. */
export async function deleteOpenInvitationsOf(
  db: Queryable,
  accountId: string,
  email: string,
): Promise<void> {
  await db
    .delete(invitations)
    .where(and(eq(invitations.accountId, accountId), eq(invitations.email, email.toLowerCase()), isUnused));
}
