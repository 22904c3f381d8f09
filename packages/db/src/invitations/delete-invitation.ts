import { and, eq, isNull } from 'drizzle-orm';
import type { Queryable } from '../database/open.ts';
import { invitationNotFound } from './invitation.ts';
import { invitations } from './table.ts';

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
