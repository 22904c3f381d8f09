import type { ReactNode } from 'react';
import { PageHeader } from '../components/page-header.tsx';

export function ProfilePage(): ReactNode {
  return <PageHeader title="Profile" />;
}
