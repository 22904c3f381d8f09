import type { ReactNode } from 'react';
import { PageHeader } from '../../components/page-header.tsx';

export function EditMonitorPage(): ReactNode {
  return <PageHeader title="Edit monitor" />;
}
