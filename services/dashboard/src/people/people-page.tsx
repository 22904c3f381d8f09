import type { ReactNode } from 'react';
import { PageHeader } from '../components/page-header.tsx';

export function PeoplePage(): ReactNode {
  return <PageHeader title="People" />;
}
