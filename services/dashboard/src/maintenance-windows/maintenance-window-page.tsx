import type { ReactNode } from 'react';
import { PageHeader } from '../components/page-header.tsx';

export function MaintenanceWindowPage(): ReactNode {
  return <PageHeader title="Maintenance window" />;
}
