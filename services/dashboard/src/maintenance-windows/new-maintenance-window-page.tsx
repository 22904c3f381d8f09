import type { ReactNode } from 'react';
import { PageHeader } from '../components/page-header.tsx';

export function NewMaintenanceWindowPage(): ReactNode {
  return <PageHeader title="New maintenance window" />;
}
