import type { ReactNode } from 'react';
import { PageHeader } from '../../components/page-header.tsx';

export function MonitorPage(): ReactNode {
  return <PageHeader title="Monitor" />;
}
