import type { ReactNode } from 'react';
import { PageHeader } from '../components/page-header.tsx';

export function IncidentsPage(): ReactNode {
  return <PageHeader title="Incidents" />;
}
