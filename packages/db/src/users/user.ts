import type { UserRole } from '@tocsin/contracts/vocabulary';
import { users } from './table.ts';

/** A user as the account's people see one. */
export interface User {
  readonly id: string;
  readonly name: string;
  readonly email: string;
  readonly role: UserRole;
  readonly createdAt: string;
}

export const userColumns = {
  id: users.id,
  name: users.name,
  email: users.email,
  role: users.role,
  createdAt: users.createdAt,
};

export function toUser(row: Omit<User, 'createdAt'> & { createdAt: Date }): User {
  return { ...row, createdAt: row.createdAt.toISOString() };
}
