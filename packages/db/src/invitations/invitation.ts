import { AppError } from '@tocsin/contracts/errors';
import type { Invitation } from '@tocsin/contracts/user';
import { invitations } from './table.ts';

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
