import type { Invitation } from '@tocsin/contracts/user';
import { AppError } from '@tocsin/contracts/errors';
import type { UserRole } from '@tocsin/contracts/vocabulary';
import { generateInvitationToken, hashInvitationToken } from '@tocsin/core/invitation/invitation-token';
import { sql } from 'drizzle-orm';
import { v7 as uuidv7 } from 'uuid';
import type { Queryable } from '../database/open.ts';
import { findUserByEmail } from '../users/find-user-by-email.ts';
import { invitationColumns, toInvitation } from './invitation.ts';
import { invitations } from './table.ts';

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
