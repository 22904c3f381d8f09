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
import type { User } from '../users/user.ts';
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
    return accept(tx, invitation, {
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
    const isOpen = and(
      eq(invitations.email, email.toLowerCase()),
      isNull(invitations.acceptedAt),
      gt(invitations.expiresAt, sql`now()`),
    );
    const [found] = await tx
      .select()
      .from(invitations)
      .where(isOpen)
      .orderBy(desc(invitations.createdAt), desc(invitations.id))
      .limit(1)
      .for('update');
    if (!found || (await findUserByEmail(tx, email)) !== null) return false;
    await accept(tx, found, { name, email, emailVerified: true, passwordHash: null });
    return true;
  });
}

async function accept(
  tx: Transaction,
  { id, accountId, role }: OpenInvitation,
  person: { name: string; email: string; emailVerified: boolean; passwordHash: string | null },
): Promise<User> {
  const user = await createUser(tx, { accountId, role, ...person });
  await tx.update(invitations).set({ acceptedAt: clockNow }).where(eq(invitations.id, id));
  return user;
}

async function hasUsers(tx: Transaction, accountId: string): Promise<boolean> {
  const [user] = await tx.select({ id: users.id }).from(users).where(eq(users.accountId, accountId)).limit(1);
  return user !== undefined;
}

function gone(): AppError {
  return new AppError('gone', 'This invitation was used or has expired: ask for another one.');
}
