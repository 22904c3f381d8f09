import { AppError } from '@tocsin/contracts/errors';
import type { Invitation, User } from '@tocsin/contracts/people/user';
import type { UserRole } from '@tocsin/contracts/vocabulary';
import { generateInvitationToken, hashInvitationToken } from '@tocsin/core/secrets/tokens';
import { and, desc, eq, gt, isNull, sql } from 'drizzle-orm';
import { v7 as uuidv7 } from 'uuid';
import type { Database, Queryable, Transaction } from '../database/open.ts';
import { clockNow } from '../database/sql.ts';
import { invitations, users } from './table.ts';
import { createUser, ensureAccount, findUserByEmail, liftTombstone, lockUsers } from './users.ts';

const invitationColumns = {
  id: invitations.id,
  role: invitations.role,
  email: invitations.email,
  expiresAt: invitations.expiresAt,
  createdAt: invitations.createdAt,
};

type InvitationRow = Omit<Invitation, 'expiresAt' | 'createdAt'> & { expiresAt: Date; createdAt: Date };

function toInvitation(row: InvitationRow): Invitation {
  return { ...row, expiresAt: row.expiresAt.toISOString(), createdAt: row.createdAt.toISOString() };
}

/** An error that says the same for an unknown invitation and for another account's. */
export function invitationNotFound(): AppError {
  return new AppError('not_found', 'There is no such invitation.');
}

/** The open invitations of the account, newest first. */
export async function listInvitations(db: Queryable, accountId: string): Promise<Invitation[]> {
  const rows = await db
    .select(invitationColumns)
    .from(invitations)
    .where(
      and(
        eq(invitations.accountId, accountId),
        eq(invitations.isSetup, false),
        isNull(invitations.acceptedAt),
        gt(invitations.expiresAt, sql`now()`),
      ),
    )
    .orderBy(desc(invitations.createdAt), desc(invitations.id));
  return rows.map(toInvitation);
}

/** How long the link of an invitation works. */
const VALID_FOR = sql`interval '7 days'`;

export interface NewInvitation {
  readonly accountId: string;
  readonly role: UserRole;
  /** Null: whoever has the link chooses one. */
  readonly email: string | null;
  /** The owner who invites; null: the set-up link of an account without users. */
  readonly createdBy: string | null;
}

/**
 * Creates an invitation; the token cannot be had again.
 * @throws AppError conflict where the address is a user's of the same account (another account's is not told)
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
  const [row] = await db
    .insert(invitations)
    .values({
      id: uuidv7(),
      ...input,
      email,
      tokenHash: hashInvitationToken(token),
      expiresAt: sql`now() + ${VALID_FOR}`,
      isSetup: input.createdBy === null,
    })
    .returning(invitationColumns);
  if (!row) throw new Error('no row came back');
  return { invitation: toInvitation(row), token };
}

/**
 * The token of a new link that makes the first owner (design §2); the one before stops working. Null where the first account has a
 * user: then there is nothing to set up.
 */
export async function renewSetupInvitation(db: Database): Promise<string | null> {
  const { id: accountId } = await ensureAccount(db);
  return db.transaction(async (tx) => {
    await lockUsers(tx, accountId);
    await tx
      .delete(invitations)
      .where(
        and(
          eq(invitations.accountId, accountId),
          eq(invitations.isSetup, true),
          isNull(invitations.acceptedAt),
        ),
      );
    const [user] = await tx
      .select({ id: users.id })
      .from(users)
      .where(eq(users.accountId, accountId))
      .limit(1);
    if (user) return null;
    const { token } = await createInvitation(tx, {
      accountId,
      role: 'owner',
      email: null,
      createdBy: null,
    });
    return token;
  });
}

export interface Acceptance {
  readonly token: string;
  readonly name: string;
  /** Counts only where the invitation names no address. */
  readonly email: string | null;
  readonly passwordHash: string;
}

interface OpenInvitation {
  readonly id: string;
  readonly accountId: string;
  readonly role: UserRole;
  readonly email: string | null;
  readonly isSetup: boolean;
}

/** The open invitation of a token. @throws AppError not_found; gone where it was used or has expired */
export async function findOpenInvitation(db: Queryable, token: string): Promise<OpenInvitation> {
  const [row] = await db
    .select({
      id: invitations.id,
      accountId: invitations.accountId,
      role: invitations.role,
      email: invitations.email,
      isSetup: invitations.isSetup,
      isOpen: sql<boolean>`${invitations.acceptedAt} is null and ${invitations.expiresAt} > now()`,
    })
    .from(invitations)
    .where(eq(invitations.tokenHash, hashInvitationToken(token)));
  if (!row) throw invitationNotFound();
  const { isOpen, ...invitation } = row;
  if (!isOpen) throw gone();
  return invitation;
}

/**
 * Makes a user of whoever holds the token; of several at once one gets it.
 * @throws AppError not_found; gone; conflict where the address is taken; validation_failed where there is none
 */
export async function acceptInvitation(db: Database, input: Acceptance): Promise<User> {
  return db.transaction(async (tx) => {
    const { accountId } = await findOpenInvitation(tx, input.token);
    // Whoever waited here sees what the one before did.
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
 * Accepts the newest open invitation for a proven address, for who signs in by single sign-on.
 * @returns false where there is none, or the address is a user's already
 */
export async function acceptInvitationOf(db: Database, email: string, name: string): Promise<boolean> {
  return db.transaction(async (tx) => {
    const found = await findNewestOf(tx, email);
    if (!found) return false;
    await lockUsers(tx, found.accountId);
    if ((await findUserByEmail(tx, email)) !== null || !(await claimInvitation(tx, found.id))) return false;
    await admit(tx, found, { name, email, emailVerified: true, passwordHash: null });
    return true;
  });
}

async function findNewestOf(tx: Transaction, email: string): Promise<OpenInvitation | undefined> {
  const [found] = await tx
    .select()
    .from(invitations)
    .where(
      and(
        eq(invitations.email, email.toLowerCase()),
        isNull(invitations.acceptedAt),
        gt(invitations.expiresAt, sql`now()`),
      ),
    )
    .orderBy(desc(invitations.createdAt), desc(invitations.id))
    .limit(1);
  return found;
}

/** @returns false where it was accepted, or taken back, since it was read */
async function claimInvitation(tx: Transaction, id: string): Promise<boolean> {
  const { rowCount } = await tx
    .update(invitations)
    .set({ acceptedAt: clockNow })
    .where(and(eq(invitations.id, id), isNull(invitations.acceptedAt)));
  return rowCount === 1;
}

/** Makes a user by a claimed invitation. Every other one for the address goes: none may bring back who is removed later. */
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

async function hasUsers(tx: Transaction, accountId: string): Promise<boolean> {
  const [user] = await tx.select({ id: users.id }).from(users).where(eq(users.accountId, accountId)).limit(1);
  return user !== undefined;
}

function gone(): AppError {
  return new AppError('gone', 'This invitation was used or has expired: ask for another one.');
}

/** Takes an invitation back: its link stops working at once. @throws AppError not_found, also where it was accepted */
export async function deleteInvitation(db: Queryable, accountId: string, id: string): Promise<void> {
  const deleted = await db
    .delete(invitations)
    .where(and(eq(invitations.id, id), eq(invitations.accountId, accountId), isNull(invitations.acceptedAt)));
  if (deleted.rowCount !== 1) throw invitationNotFound();
}

/** Takes back every invitation of the account for this address. */
export async function deleteOpenInvitationsOf(
  db: Queryable,
  accountId: string,
  email: string,
): Promise<void> {
  await db
    .delete(invitations)
    .where(
      and(
        eq(invitations.accountId, accountId),
        eq(invitations.email, email.toLowerCase()),
        isNull(invitations.acceptedAt),
      ),
    );
}
