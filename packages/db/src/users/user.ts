import type { User } from '@tocsin/contracts/user';
import { users } from './table.ts';

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
