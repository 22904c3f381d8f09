import type { ReactNode } from 'react';
import { PageHeader } from '../components/page-header.tsx';

export function DocsPage(): ReactNode {
  return <PageHeader title="API reference" />;
}
