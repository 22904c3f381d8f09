import type { ReactNode } from 'react';
import { PageHeader } from '../components/page-header.tsx';

export function RegionsPage(): ReactNode {
  return <PageHeader title="Regions" />;
}
