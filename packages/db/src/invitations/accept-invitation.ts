import type { User } from '@tocsin/contracts/user';
import { AppError } from '@tocsin/contracts/errors';
import type { UserRole } from '@tocsin/contracts/vocabulary';
import { hashInvitationToken } from '@tocsin/core/invitation/invitation-token';
import { and, desc, eq, gt, isNull, sql } from 'drizzle-orm';
import { clockNow } from '../database/columns.ts';
import type { Database, Queryable, Transaction } from '../database/open.ts';
import { createUser } from '../users/create-user.ts';
import { findUserByEmail } from '../users/find-user-by-email.ts';
import { lockUsers } from '../users/lock-users.ts';
import { users } from '../users/table.ts';
import { liftTombstone } from '../users/tombstones.ts';
import { deleteOpenInvitationsOf } from './delete-invitation.ts';
import { invitationNotFound } from './invitation.ts';
import { invitations } from './table.ts';

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
