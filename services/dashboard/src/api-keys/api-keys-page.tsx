import type { ReactNode } from 'react';
import { PageHeader } from '../components/page-header.tsx';

export function ApiKeysPage(): ReactNode {
  return <PageHeader title="API keys" />;
}
