import type { ReactNode } from 'react';
import { PageHeader } from '../components/page-header.tsx';

export function MaintenanceWindowsPage(): ReactNode {
  return <PageHeader title="Maintenance" />;
}
