import type { ReactNode } from 'react';
import { PageHeader } from '../../components/page-header.tsx';

export function NewMonitorPage(): ReactNode {
  return <PageHeader title="New monitor" />;
}
