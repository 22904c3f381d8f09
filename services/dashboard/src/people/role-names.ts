import type { UserRole } from '@tocsin/contracts/vocabulary';

export const ROLE_NAMES: Readonly<Record<UserRole, string>> = {
  owner: 'Owner',
  member: 'Member',
  viewer: 'Viewer',
};
