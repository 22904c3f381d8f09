import type { Invitation } from '@tocsin/contracts/user';
import { and, desc, eq, gt, isNull, sql } from 'drizzle-orm';
import type { Queryable } from '../database/open.ts';
import { invitationColumns, toInvitation } from './invitation.ts';
import { invitations } from './table.ts';

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
