import { AppError } from '@tocsin/contracts/errors';
import type { UserRole } from '@tocsin/contracts/vocabulary';
import { invitations } from './table.ts';

/** An invitation as owners of the account see it; its token is shown only when it is made. */
export interface Invitation {
  readonly id: string;
  readonly role: UserRole;
  /** Null: whoever has the link chooses an address. */
  readonly email: string | null;
  readonly expiresAt: string;
  readonly createdAt: string;
}

export const invitationColumns = {
  id: invitations.id,
  role: invitations.role,
  email: invitations.email,
  expiresAt: invitations.expiresAt,
  createdAt: invitations.createdAt,
};

type InvitationRow = Omit<Invitation, 'expiresAt' | 'createdAt'> & { expiresAt: Date; createdAt: Date };

export function toInvitation(row: InvitationRow): Invitation {
  return { ...row, expiresAt: row.expiresAt.toISOString(), createdAt: row.createdAt.toISOString() };
}

/** An error that says the same for an unknown invitation and for another account's. */
export function invitationNotFound(): AppError {
  return new AppError('not_found', 'There is no such invitation.');
}
