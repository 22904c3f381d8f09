import type { ReactNode } from 'react';
import { PageHeader } from '../../components/page-header.tsx';

export function MonitorsPage(): ReactNode {
  return <PageHeader title="Monitors" />;
}
